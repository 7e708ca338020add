package queue

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"sekisho/tests/awsfake/moto"
)

var emulator moto.Shared

func TestMain(m *testing.M) { os.Exit(emulator.Run(m)) }

func TestReceiveAndDelete(t *testing.T) {
	cfg := emulator.Config(t)
	q, err := New(cfg, "https://sqs.us-east-1.amazonaws.com/123456789012/undelivered")
	must(t, err)
	var made struct {
		QueueURL string `json:"QueueUrl"`
	}
	must(t, q.call(t.Context(), "CreateQueue", map[string]any{"QueueName": "undelivered"}, &made))
	q.url = made.QueueURL
	for _, body := range []string{"one", "two"} {
		must(t, q.call(t.Context(), "SendMessage", map[string]any{"QueueUrl": q.url, "MessageBody": body}, nil))
	}

	first, err := q.Receive(t.Context(), time.Minute)
	must(t, err)
	if len(first) != 2 || first[0].Body+first[1].Body != "onetwo" {
		t.Fatalf("received %+v, want both", first)
	}
	if again, err := q.Receive(t.Context(), time.Minute); err != nil || len(again) != 0 {
		t.Errorf("received again: %+v, %v; want nothing while they are hidden", again, err)
	}
	must(t, q.Delete(t.Context(), first[0]))
	must(t, q.call(t.Context(), "ChangeMessageVisibility", map[string]any{"QueueUrl": q.url, "ReceiptHandle": first[1].Receipt, "VisibilityTimeout": 0}, nil))
	if left, err := q.Receive(t.Context(), time.Minute); err != nil || len(left) != 1 || left[0].ID != first[1].ID {
		t.Errorf("left: %+v, %v; want the one that was not deleted", left, err)
	}

	q.url += "-of-nobody"
	if _, err := q.Receive(t.Context(), time.Minute); err == nil || !strings.Contains(err.Error(), "ReceiveMessage: 400") {
		t.Errorf("a queue that is not there: %v", err)
	}
}

// TestWhere: the URL says which region to sign for and where to send.
func TestWhere(t *testing.T) {
	q, err := New(aws.Config{Region: "us-east-1"}, "https://sqs.eu-west-1.amazonaws.com/123456789012/undelivered")
	must(t, err)
	if q.region != "eu-west-1" || q.endpoint() != "https://sqs.eu-west-1.amazonaws.com/" {
		t.Errorf("signed for %s, sent to %s", q.region, q.endpoint())
	}
	for _, wrong := range []string{"", "undelivered", "https://sqs.eu-west-1.amazonaws.com/undelivered"} {
		if _, err := New(aws.Config{Region: "us-east-1"}, wrong); err == nil || !strings.Contains(err.Error(), "get-queue-url") {
			t.Errorf("%q: %v, want how to find the URL", wrong, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
