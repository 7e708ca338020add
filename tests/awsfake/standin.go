package awsfake

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// object is a JSON object, kept as it came.
type object = map[string]any

// fault is an answer that the AWS SDK turns into an error of that name.
type fault struct {
	code, message string
}

func (f fault) Error() string { return f.code + ": " + f.message }

// operation answers one call. It runs alone.
type operation func(in object) (object, error)

// standIn routes calls of the AWS JSON protocol, which names the operation in a header.
type standIn struct {
	mu         sync.Mutex
	operations map[string]operation
}

func newStandIn(quota float64) *standIn {
	s := &standIn{operations: map[string]operation{}}
	s.add("AWSBudgetServiceGateway", newBudgets().operations())
	s.add("AWSInsightsIndexService", newAnomalies().operations())
	s.add("ServiceQuotasV20190624", quotas(quota))
	return s
}

func (s *standIn) add(service string, operations map[string]operation) {
	for name, op := range operations {
		s.operations[service+"."+name] = op
	}
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out, err := s.call(r)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if err != nil {
		code := "InternalFailure"
		if f, ok := err.(fault); ok {
			code = f.code
		}
		w.WriteHeader(http.StatusBadRequest)
		out = object{"__type": code, "message": err.Error()}
	}
	_ = json.NewEncoder(w).Encode(out)
}

func (s *standIn) call(r *http.Request) (object, error) {
	target := r.Header.Get("X-Amz-Target")
	op, ok := s.operations[target]
	if !ok {
		return nil, fault{"UnknownOperationException", fmt.Sprintf("the stand-in has no %q (%s %s)", target, r.Method, r.URL.Path)}
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	in := object{}
	if len(strings.TrimSpace(string(body))) > 0 {
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, fault{"SerializationException", err.Error()}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return op(in)
}

func text(in object, name string) string {
	value, _ := in[name].(string)
	return value
}

func objects(in object, name string) []object {
	list, _ := in[name].([]any)
	out := make([]object, 0, len(list))
	for _, item := range list {
		if o, ok := item.(object); ok {
			out = append(out, o)
		}
	}
	return out
}

func nested(in object, name string) object {
	value, _ := in[name].(object)
	return value
}
