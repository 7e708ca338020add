package apigateway

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"
)

// keptMessages is how many of the last messages of all topics can be looked at.
const keptMessages = 100

// maxMessage is SNS's own limit (docs.aws.amazon.com/sns/latest/api/API_Publish.html).
const maxMessage = 256 << 10

// topics stand in for SNS: every message goes to the one function that is subscribed. The
// name of the topic is part of the message, so the function can tell its own from others.
type topics struct {
	subscriber *function

	mu         sync.Mutex
	kept       []events.SNSEntity
	deliveries sync.WaitGroup
}

// TopicARN is the ARN of a topic of this machine.
func TopicARN(name string) string { return "arn:aws:sns:" + region + ":" + accountID + ":" + name }

// Publish publishes a message and delivers it in the background, as SNS does.
func (g *Gateway) Publish(topic string, m events.SNSEntity) {
	m = g.keepMessage(topic, m)
	g.topics.deliveries.Go(func() {
		if err := g.deliverMessage(m); err != nil {
			g.log.Warn("message could not be delivered", zap.String("message_id", m.MessageID), zap.Error(err))
		}
	})
}

func (g *Gateway) keepMessage(topic string, m events.SNSEntity) events.SNSEntity {
	m.Type, m.TopicArn, m.MessageID = "Notification", TopicARN(topic), newUUID()
	if m.Timestamp.IsZero() {
		m.Timestamp = g.now().UTC()
	}
	if m.MessageAttributes == nil {
		m.MessageAttributes = map[string]any{} // as SNS delivers it
	}
	g.topics.mu.Lock()
	defer g.topics.mu.Unlock()
	g.topics.kept = append(g.topics.kept, m)
	if extra := len(g.topics.kept) - keptMessages; extra > 0 {
		g.topics.kept = slices.Delete(g.topics.kept, 0, extra)
	}
	return m
}

// deliverMessage invokes the subscriber once. SNS would try again after an error.
func (g *Gateway) deliverMessage(m events.SNSEntity) error {
	f := g.topics.subscriber
	if f == nil {
		return nil
	}
	payload, err := json.Marshal(events.SNSEvent{Records: []events.SNSEventRecord{{
		EventVersion: "1.0", EventSource: "aws:sns", EventSubscriptionArn: m.TopicArn + ":local", SNS: m,
	}}})
	if err != nil {
		return err
	}
	_, err = f.invoke(payload, f.timeout)
	return err
}

// serveTopic serves /_local/topics/NAME: GET shows the last messages, POST publishes one and
// answers when it was delivered. A message can stop the service, so only this machine may
// publish, and no web page.
func (g *Gateway) serveTopic(w http.ResponseWriter, r *http.Request, name string) {
	if r.Method != http.MethodPost {
		g.topics.mu.Lock()
		defer g.topics.mu.Unlock()
		kept := []events.SNSEntity{}
		for _, m := range g.topics.kept {
			if m.TopicArn == TopicARN(name) {
				kept = append(kept, m)
			}
		}
		writeJSON(w, http.StatusOK, kept)
		return
	}
	if !fromThisMachine(r) {
		writeJSON(w, http.StatusForbidden, map[string]string{"message": "Only this machine may publish, and no web page."})
		return
	}
	m, err := readMessage(w, r)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"message": err.Error()})
		return
	}
	m = g.keepMessage(name, m)
	if err := g.deliverMessage(m); err != nil {
		writeJSON(w, http.StatusBadGateway, map[string]string{"MessageId": m.MessageID, "message": "The function failed: " + err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"MessageId": m.MessageID})
}

func fromThisMachine(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.IsLoopback() && r.Header.Get("Origin") == ""
}

func readMessage(w http.ResponseWriter, r *http.Request) (m events.SNSEntity, err error) {
	// A web page can send other types to this machine without asking first.
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return m, fmt.Errorf("send Content-Type: application/json")
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
	if err != nil {
		return m, fmt.Errorf("the message could not be read: %w", err)
	}
	if err := json.Unmarshal(raw, &m); err != nil || m.Message == "" {
		return m, fmt.Errorf(`send {"Subject": "…", "Message": "…"} and, for drills, "Timestamp" and "MessageAttributes"`)
	}
	return m, nil
}

// topicOf is the topic's name in a path of this machine; ok is false for other paths.
func topicOf(path string) (name string, ok bool) {
	name, ok = strings.CutPrefix(path, localPrefix+"topics/")
	return name, ok && name != "" && !strings.Contains(name, "/")
}
