package lambda

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"
)

// keptMessages is how many of the last messages of all topics can be looked at.
const keptMessages = 100

// TopicARN is the ARN of a topic on the laptop.
func TopicARN(name string) string { return "arn:aws:sns:" + Region + ":" + AccountID + ":" + name }

// Topics stand in for SNS: every message goes to the one function that is subscribed. The
// name of the topic is part of the message, so the function can tell its own from others.
type Topics struct {
	functions  *Functions
	subscriber string
	now        func() time.Time
	log        *zap.Logger

	mu         sync.Mutex
	kept       []events.SNSEntity
	deliveries sync.WaitGroup
}

// NewTopics subscribes a function by its name.
func NewTopics(functions *Functions, subscriber string, now func() time.Time, log *zap.Logger) *Topics {
	return &Topics{functions: functions, subscriber: subscriber, now: now, log: log}
}

// Announce publishes a message and delivers it in the background, as SNS does.
func (t *Topics) Announce(topic string, m events.SNSEntity) {
	m = t.keep(topic, m)
	t.deliveries.Go(func() {
		if err := t.deliver(m); err != nil {
			t.log.Warn("message could not be delivered", zap.String("message_id", m.MessageID), zap.Error(err))
		}
	})
}

// Publish publishes a message and returns when it was delivered, with its ID. The error is
// the function's.
func (t *Topics) Publish(topic string, m events.SNSEntity) (id string, err error) {
	m = t.keep(topic, m)
	return m.MessageID, t.deliver(m)
}

// Record keeps a message of a topic that nobody is subscribed to.
func (t *Topics) Record(topic string, m events.SNSEntity) { t.keep(topic, m) }

// Kept are the last messages of a topic.
func (t *Topics) Kept(topic string) []events.SNSEntity {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := []events.SNSEntity{}
	for _, m := range t.kept {
		if m.TopicArn == TopicARN(topic) {
			kept = append(kept, m)
		}
	}
	return kept
}

// Wait returns when all deliveries have ended.
func (t *Topics) Wait() { t.deliveries.Wait() }

func (t *Topics) keep(topic string, m events.SNSEntity) events.SNSEntity {
	m.Type, m.TopicArn, m.MessageID = "Notification", TopicARN(topic), NewRequestID()
	if m.Timestamp.IsZero() {
		m.Timestamp = t.now().UTC()
	}
	if m.MessageAttributes == nil {
		m.MessageAttributes = map[string]any{} // as SNS delivers it
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, m)
	if extra := len(t.kept) - keptMessages; extra > 0 {
		t.kept = slices.Delete(t.kept, 0, extra)
	}
	return m
}

// deliver invokes the subscriber once. SNS would try again after an error.
func (t *Topics) deliver(m events.SNSEntity) error {
	payload, err := json.Marshal(events.SNSEvent{Records: []events.SNSEventRecord{{
		EventVersion: "1.0", EventSource: "aws:sns", EventSubscriptionArn: m.TopicArn + ":local", SNS: m,
	}}})
	if err != nil {
		return err
	}
	_, err = t.functions.Invoke(t.subscriber, payload, 0)
	return err
}
