package dynamo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"testing"

	"sekisho/functions/internal/aws/dynamo/dynamotest"
	"sekisho/functions/internal/store/storetest"
	"sekisho/functions/internal/usage"
)

// both sends each request to the double and to the emulator, one request at a time, and
// wants the same answer.
type both struct {
	t      *testing.T
	mu     sync.Mutex
	double *dynamotest.Double
}

func (b *both) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	again := r.Clone(r.Context())
	r.Body, again.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(body))
	fromMoto, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	fromDouble, err := b.double.RoundTrip(again)
	if err != nil {
		return nil, err
	}
	want, got := b.read(fromMoto), b.read(fromDouble)
	// Of UPDATED_NEW moto (5.2.1) leaves out what did not change, and adds the key of a new item.
	if updated, ok := want["attributes"].(map[string]any); ok {
		all, _ := got["attributes"].(map[string]any)
		maps.DeleteFunc(all, func(name string, _ any) bool { return updated[name] == nil })
		delete(updated, "pk")
	}
	if fromMoto.StatusCode != fromDouble.StatusCode || !reflect.DeepEqual(want, got) {
		b.t.Errorf("%s %s:\nthe double says %d %v\nmoto says       %d %v", r.Header.Get("X-Amz-Target"), body, fromDouble.StatusCode, got, fromMoto.StatusCode, want)
	}
	return fromMoto, nil
}

// read returns what the store looks at, and leaves the body to be read again.
func (b *both) read(r *http.Response) map[string]any {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		b.t.Error(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var answer map[string]any
	if err := json.Unmarshal(body, &answer); err != nil {
		b.t.Errorf("%s: %v", body, err)
	}
	reasons, _ := answer["CancellationReasons"].([]any)
	for _, r := range reasons {
		if m, ok := r.(map[string]any); ok {
			delete(m, "Message")
		}
	}
	// The kind of an error without its name space; texts are free.
	kind, _ := answer["__type"].(string)
	if at := bytes.LastIndexByte([]byte(kind), '#'); at >= 0 {
		kind = kind[at+1:]
	}
	return map[string]any{"responses": sorted(answer["Responses"]), "kind": kind, "item": answer["Item"], "attributes": answer["Attributes"], "reasons": answer["CancellationReasons"]}
}

// sorted writes the items of a batch in an order, which they have not.
func sorted(responses any) []string {
	tables, _ := responses.(map[string]any)
	var all []string
	for _, items := range tables {
		list, _ := items.([]any)
		for _, i := range list {
			all = append(all, fmt.Sprint(i))
		}
	}
	slices.Sort(all)
	return all
}

// TestContractOverTheDouble takes a hundredth of the time that moto takes: most faults show here at once.
func TestContractOverTheDouble(t *testing.T) {
	storetest.Usage(t, func(*testing.T) usage.Store {
		return over(dynamotest.New()).Usage()
	})
}

// agreeing is a store over the emulator whose counters are sent to the double too.
type agreeing struct {
	*Store
	counters usage.Store
}

func (a agreeing) Usage() usage.Store { return a.counters }
