// Package queue reads the queue of events that a function could not handle. It speaks SQS's JSON
// protocol itself: the SDK's client for three calls of one command would be a module more.
package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Queue is one queue.
type Queue struct {
	cfg    aws.Config
	url    string
	region string
	client *http.Client
}

// Message is one that was received. It stays in the queue until it is deleted, and is not
// received again for the visibility timeout.
type Message struct {
	ID      string `json:"MessageId"`
	Body    string
	Receipt string `json:"ReceiptHandle"`
}

// New takes a queue's URL, such as https://sqs.us-east-1.amazonaws.com/123456789012/NAME.
func New(cfg aws.Config, address string) (*Queue, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || strings.Count(strings.Trim(u.Path, "/"), "/") != 1 {
		return nil, fmt.Errorf("%q is not the URL of a queue, such as https://sqs.us-east-1.amazonaws.com/123456789012/NAME; `aws sqs get-queue-url --queue-name NAME` shows it", address)
	}
	q := &Queue{cfg: cfg, url: address, region: cfg.Region, client: &http.Client{Timeout: 30 * time.Second}}
	if host := strings.Split(u.Host, "."); len(host) > 2 && host[0] == "sqs" {
		q.region = host[1]
	}
	if q.region == "" {
		return nil, errors.New("set AWS_REGION to the queue's region")
	}
	return q, nil
}

// Receive returns up to ten messages, and none when the queue is empty. They are hidden from
// others for hide.
func (q *Queue) Receive(ctx context.Context, hide time.Duration) ([]Message, error) {
	var out struct{ Messages []Message }
	err := q.call(ctx, "ReceiveMessage", map[string]any{
		"QueueUrl": q.url, "MaxNumberOfMessages": 10, "VisibilityTimeout": int(hide.Seconds()), "WaitTimeSeconds": 2,
	}, &out)
	return out.Messages, err
}

// Delete takes a message out of the queue for good.
func (q *Queue) Delete(ctx context.Context, m Message) error {
	return q.call(ctx, "DeleteMessage", map[string]any{"QueueUrl": q.url, "ReceiptHandle": m.Receipt}, nil)
}

func (q *Queue) call(ctx context.Context, action string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, q.endpoint(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.0")
	request.Header.Set("X-Amz-Target", "AmazonSQS."+action)
	credentials, err := q.cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return fmt.Errorf("AWS credentials: %w", err)
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(sum[:]), "sqs", q.region, time.Now()); err != nil {
		return fmt.Errorf("sign %s: %w", action, err)
	}
	response, err := q.client.Do(request)
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", action, response.Status, bytes.TrimSpace(answer))
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// endpoint is that of the configuration, if it has one, else where the queue is.
func (q *Queue) endpoint() string {
	if q.cfg.BaseEndpoint != nil {
		return *q.cfg.BaseEndpoint
	}
	u, _ := url.Parse(q.url) // New has parsed it
	u.Path = "/"
	return u.String()
}
