package topic

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"sekisho/functions/internal/boot"
)

// service stands in for SNS, which an emulator can't replace here: it returns no messages. It
// gives one answer and keeps what it was sent last.
func service(t *testing.T, status int, answer string) (env boot.Env, sent *url.Values) {
	t.Helper()
	sent = &url.Values{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		*sent = r.PostForm
		w.Header().Set("Content-Type", "text/xml")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return boot.Map(map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_ENDPOINT_URL": server.URL,
		"TOPIC": "arn:aws:sns:us-east-1:123456789012:demo-usage",
	}), sent
}

const accepted = `<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult><MessageId>m</MessageId></PublishResult></PublishResponse>`

func TestPublish(t *testing.T) {
	env, sent := service(t, http.StatusOK, accepted)
	p, err := FromEnv(env, "TOPIC")
	if err != nil {
		t.Fatal(err)
	}
	plain := map[string]string{
		"Action": "Publish", "TopicArn": "arn:aws:sns:us-east-1:123456789012:demo-usage", "Subject": "80 % used", "Message": "text\nof two lines",
		"MessageAttributes.entry.1.Name": "",
	}
	marked := p.(Topic)
	marked.Attributes = map[string]string{"mark": "mine"}
	for _, c := range []struct {
		publisher Publisher
		want      map[string]string
	}{
		{p, plain},
		{marked, map[string]string{"MessageAttributes.entry.1.Name": "mark", "MessageAttributes.entry.1.Value.StringValue": "mine"}},
	} {
		if err := c.publisher.Publish(t.Context(), "80 % used", "text\nof two lines"); err != nil {
			t.Fatal(err)
		}
		for name, want := range c.want {
			if got := sent.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	env, _ := service(t, http.StatusForbidden, `<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><Error><Type>Sender</Type><Code>AuthorizationError</Code><Message>no</Message></Error></ErrorResponse>`)
	p, err := FromEnv(env, "TOPIC")
	if err != nil {
		t.Fatal(err)
	}
	err = p.Publish(t.Context(), "Subject", "text")
	var refused *types.AuthorizationErrorException
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "demo-usage") {
		t.Errorf("%v: want SNS's own error, and the topic", err)
	}
}

// TestFromEnv: no topic is no error, and no publisher; a topic without a region is one.
func TestFromEnv(t *testing.T) {
	if p, err := FromEnv(boot.Map(nil), "TOPIC"); p != nil || err != nil {
		t.Errorf("without a topic: %v, %v", p, err)
	}
	if _, err := FromEnv(boot.Map(map[string]string{"TOPIC": "arn:aws:sns:us-east-1:123456789012:demo"}), "TOPIC"); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("without a region: %v", err)
	}
}
