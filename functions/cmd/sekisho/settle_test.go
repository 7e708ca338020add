package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/aws/queue"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/handler/settle"
	"sekisho/functions/internal/usage"
)

// undelivered is a queue whose messages are hidden once they were received.
type undelivered struct {
	messages []queue.Message
	received int
	deleted  []string
}

func (u *undelivered) Receive(context.Context, time.Duration) ([]queue.Message, error) {
	batch := u.messages[u.received:min(u.received+2, len(u.messages))]
	u.received += len(batch)
	return batch, nil
}

func (u *undelivered) Delete(_ context.Context, m queue.Message) error {
	u.deleted = append(u.deleted, m.ID)
	return nil
}

// refunds takes refunds, except for one meter.
type refunds struct {
	taken []string
	down  string
}

func (r *refunds) Refund(_ context.Context, refund usage.Refund) ([]usage.Outcome, error) {
	if refund.Meter == r.down {
		return nil, errors.New("store down")
	}
	r.taken = append(r.taken, refund.Meter)
	return make([]usage.Outcome, len(refund.Calls)), nil
}

func (r *refunds) AddDenied(context.Context, string, usage.Period, int64) error { return nil }

func (r *refunds) Once(context.Context, string, usage.Period) (bool, error) { return true, nil }

func (r *refunds) Again(context.Context, string, usage.Period) error { return nil }

// failedInvocation is what Lambda writes to a destination about a delivery that settle could
// not handle.
func failedInvocation(t *testing.T, meter string) string {
	t.Helper()
	record, err := json.Marshal(gateway.AccessRecord{Status: "503", Admission: gateway.Admission{
		AdmissionID: usage.NewAdmissionID(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)), Operation: "postal.lookup", KeyID: meter, RefundCap: "100",
	}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string]any{"messageType": "DATA_MESSAGE", "logEvents": []any{map[string]any{"id": "1", "message": string(record)}}})
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"version":"1.0","requestContext":{"condition":"RetriesExhausted","approximateInvokeCount":3},
		"requestPayload":{"awslogs":{"data":"%s"}},"responseContext":{"statusCode":200,"functionError":"Unhandled"}}`,
		base64.StdEncoding.EncodeToString(packed.Bytes()))
}

// TestSettleQueue: what was settled is deleted, and what could not be stays, said by name.
func TestSettleQueue(t *testing.T) {
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	store := &refunds{down: "key_b"}
	q := &undelivered{messages: []queue.Message{
		{ID: "a", Body: failedInvocation(t, "key_a")},
		{ID: "b", Body: failedInvocation(t, "key_b")},
		{ID: "brake's", Body: `{"requestPayload":{"Records":[]}}`},
		{ID: "garbled", Body: `{"requestPayload":{"awslogs":{"data":"bm90IGd6aXA="}}}`},
		{ID: "e", Body: failedInvocation(t, "key_e")},
	}}
	var out bytes.Buffer
	err = settleQueue(t.Context(), q, &settle.Handler{API: api, Store: store, Log: zap.NewNop(), Now: time.Now}, &out)
	if !slices.Equal(q.deleted, []string{"a", "e"}) || !slices.Equal(store.taken, []string{"key_a", "key_e"}) {
		t.Errorf("deleted %v, refunded %v; want a and e", q.deleted, store.taken)
	}
	if got := out.String(); got != "2 deliveries settled.\n" {
		t.Errorf("it says %q", got)
	}
	for _, want := range []string{"message b stays in the queue: ", "store down", "message brake's stays in the queue: not a delivery of the access log: is it the queue of settle?", "message garbled stays"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q in it", err, want)
		}
	}
}
