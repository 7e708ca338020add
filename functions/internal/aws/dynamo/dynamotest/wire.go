package dynamotest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Wire passes requests on and counts capacity units from the sizes of the items in each, because
// the emulator reports a constant as consumed capacity. It is an http.RoundTripper, and safe for
// concurrent use.
type Wire struct {
	// Beside is a client that bypasses the counting.
	Beside *dynamodb.Client

	mu   sync.Mutex
	sent Sent
	// unknown are operations that Wire can't count.
	unknown []string
	// largest is the largest item that was written, in bytes.
	largest int64
}

// Sent are requests in the order of their answers.
type Sent []Request

// Request is one request, in capacity units, and who made it, if its context says so; see By.
type Request struct {
	By, Operation string
	Reads, Writes int64
}

// Units are those of all requests.
func (s Sent) Units() (reads, writes int64) {
	for _, r := range s {
		reads, writes = reads+r.Reads, writes+r.Writes
	}
	return reads, writes
}

type by struct{}

// By has the requests that are made with a context bear a name.
func By(ctx context.Context, name string) context.Context { return context.WithValue(ctx, by{}, name) }

type target struct {
	TableName      string
	Key            map[string]json.RawMessage
	Item           map[string]json.RawMessage
	ConsistentRead bool
}

// RoundTrip sends one request.
func (w *Wire) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	request := Request{Operation: operation}
	request.By, _ = r.Context().Value(by{}).(string)
	if err := w.count(r.Context(), &request, body); err != nil {
		return nil, fmt.Errorf("count %s: %w", operation, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, request)
	return response, nil
}

// count adds the units of a request: reads per 4 KB, writes per 1 KB, twice that in a
// transaction. A write whose condition fails costs the same as one that is applied
// (docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html).
func (w *Wire) count(ctx context.Context, r *Request, body []byte) error {
	var in struct {
		target
		TransactItems []map[string]target
		RequestItems  map[string]struct {
			Keys           []map[string]json.RawMessage
			ConsistentRead bool
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	switch r.Operation {
	case "GetItem":
		return w.read(ctx, r, in.target)
	case "BatchGetItem": // each item for itself, also one that is not there
		for table, batch := range in.RequestItems {
			for _, key := range batch.Keys {
				t := target{TableName: table, Key: key, ConsistentRead: batch.ConsistentRead}
				if err := w.read(ctx, r, t); err != nil {
					return err
				}
			}
		}
		return nil
	case "UpdateItem", "PutItem":
		return w.add(ctx, in.target, func(size int64) { r.Writes += units(size, 1024); w.largest = max(w.largest, size) })
	case "TransactWriteItems":
		for _, write := range in.TransactItems {
			for _, t := range write {
				if err := w.add(ctx, t, func(size int64) { r.Writes += 2 * units(size, 1024); w.largest = max(w.largest, size) }); err != nil {
					return err
				}
			}
		}
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unknown = append(w.unknown, r.Operation)
	return nil
}

// read counts a consistent read, the only kind that there is.
func (w *Wire) read(ctx context.Context, r *Request, t target) error {
	return w.add(ctx, t, func(size int64) {
		r.Reads += units(size, 4096)
		if !t.ConsistentRead {
			w.unknown = append(w.unknown, r.Operation+", eventually consistent")
		}
	})
}

func units(size, per int64) int64 { return max(1, (size+per-1)/per) }

// add passes on the size that an item has after the request.
func (w *Wire) add(ctx context.Context, t target, count func(size int64)) error {
	key := t.Key
	if key == nil {
		key = map[string]json.RawMessage{"pk": t.Item["pk"]}
	}
	var pk struct{ S string }
	if err := json.Unmarshal(key["pk"], &pk); err != nil {
		return err
	}
	out, err := w.Beside.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &t.TableName, ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk.S}},
	})
	if err != nil {
		return err
	}
	size, err := SizeOf(out.Item)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	count(size)
	return nil
}

// SizeOf is an item's size by DynamoDB's rule: names and values, where a number takes one
// byte per two digits plus one
// (docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html).
func SizeOf(item map[string]types.AttributeValue) (size int64, err error) {
	for name, value := range item {
		size += int64(len(name))
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			size += int64(len(v.Value))
		case *types.AttributeValueMemberN:
			size += int64(len(v.Value)+1)/2 + 1
		case *types.AttributeValueMemberB:
			size += int64(len(v.Value))
		case *types.AttributeValueMemberSS:
			for _, s := range v.Value {
				size += int64(len(s))
			}
		default:
			return 0, fmt.Errorf("attribute %s is a %T, which no store of ours writes", name, value)
		}
	}
	return size, nil
}

// Take returns what was sent since it was last called.
func (w *Wire) Take() Sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := w.sent
	w.sent = nil
	return sent
}

// Uncounted are the operations that Wire can't count. A test that relies on its figures must check
// that there are none.
func (w *Wire) Uncounted() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unknown
}

// Largest is the size of the largest item that was written, in bytes.
func (w *Wire) Largest() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.largest
}
