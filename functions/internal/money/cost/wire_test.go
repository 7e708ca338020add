package cost_test

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

// wire counts capacity units from the sizes of the items in each request, because the
// emulator reports a constant as consumed capacity.
type wire struct {
	// beside is a client that bypasses the counting.
	beside *dynamodb.Client

	mu            sync.Mutex
	reads, writes int64
	// unknown are operations that wire can't count.
	unknown []string
	// largest is the largest item that was written, in bytes.
	largest int64
}

type target struct {
	TableName      string
	Key            map[string]json.RawMessage
	Item           map[string]json.RawMessage
	ConsistentRead bool
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
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
	if err := w.count(r.Context(), operation, body); err != nil {
		return nil, fmt.Errorf("count %s: %w", operation, err)
	}
	return response, nil
}

// count adds the units of a request: reads per 4 KB, writes per 1 KB, twice that in a
// transaction. A write whose condition fails costs the same as one that is applied
// (docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html).
func (w *wire) count(ctx context.Context, operation string, body []byte) error {
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
	switch operation {
	case "GetItem":
		return w.read(ctx, operation, in.target)
	case "BatchGetItem": // each item for itself, also one that is not there
		for table, batch := range in.RequestItems {
			for _, key := range batch.Keys {
				t := target{TableName: table, Key: key, ConsistentRead: batch.ConsistentRead}
				if err := w.read(ctx, "BatchGetItem", t); err != nil {
					return err
				}
			}
		}
		return nil
	case "UpdateItem", "PutItem":
		return w.add(ctx, in.target, func(size int64) { w.writes += units(size, 1024); w.largest = max(w.largest, size) })
	case "TransactWriteItems":
		for _, write := range in.TransactItems {
			for _, t := range write {
				if err := w.add(ctx, t, func(size int64) { w.writes += 2 * units(size, 1024); w.largest = max(w.largest, size) }); err != nil {
					return err
				}
			}
		}
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unknown = append(w.unknown, operation)
	return nil
}

// read counts a consistent read, the only kind that there is.
func (w *wire) read(ctx context.Context, operation string, t target) error {
	return w.add(ctx, t, func(size int64) {
		w.reads += units(size, 4096)
		if !t.ConsistentRead {
			w.unknown = append(w.unknown, operation+", eventually consistent")
		}
	})
}

func units(size, per int64) int64 { return max(1, (size+per-1)/per) }

// add passes on the size that an item has after the request.
func (w *wire) add(ctx context.Context, t target, count func(size int64)) error {
	key := t.Key
	if key == nil {
		key = map[string]json.RawMessage{"pk": t.Item["pk"]}
	}
	var pk struct{ S string }
	if err := json.Unmarshal(key["pk"], &pk); err != nil {
		return err
	}
	out, err := w.beside.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &t.TableName, ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk.S}},
	})
	if err != nil {
		return err
	}
	size, err := sizeOf(out.Item)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	count(size)
	return nil
}

// sizeOf is an item's size by DynamoDB's rule: names and values, where a number takes one
// byte per two digits plus one
// (docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html).
func sizeOf(item map[string]types.AttributeValue) (size int64, err error) {
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

func (w *wire) take() (reads, writes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	reads, writes = w.reads, w.writes
	w.reads, w.writes = 0, 0
	return reads, writes
}
