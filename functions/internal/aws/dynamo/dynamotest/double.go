// Package dynamotest is a double of the few DynamoDB operations that package dynamo uses for
// meters: GetItem, BatchGetItem, PutItem, UpdateItem, DeleteItem and TransactWriteItems over one
// key, with the expressions that it sends. It speaks the wire protocol, so that the SDK is part of what is
// tested, and keeps everything in memory, so that a test can make thousands of runs. A test
// replays the same requests to it and to moto, and compares the answers.
package dynamotest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdkratelimit "github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Client makes a client whose requests go through a transport.
func Client(transport http.RoundTripper) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://dynamodb.invalid"),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient:  roundTripper{transport},
		// The SDK's own retries, without its waits of seconds.
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return time.Millisecond, nil })
			o.RateLimiter = sdkratelimit.None
		}),
	})
}

type roundTripper struct{ http.RoundTripper }

func (r roundTripper) Do(req *http.Request) (*http.Response, error) { return r.RoundTrip(req) }

// value is an attribute: its type and what it holds, {"N":"1"}.
type value map[string]any

// Double is a database. It is an http.RoundTripper, and safe for concurrent use.
type Double struct {
	mu    sync.Mutex
	items map[string]map[string]value // by table and key
}

// New makes an empty database, in which every table exists.
func New() *Double { return &Double{items: map[string]map[string]value{}} }

// request is what the operations have in common, and each of them has.
type request struct {
	TableName                           string
	Key, Item                           map[string]value
	UpdateExpression                    string
	ConditionExpression                 string
	ExpressionAttributeNames            map[string]string
	ExpressionAttributeValues           map[string]value
	ReturnValues                        string
	ReturnValuesOnConditionCheckFailure string
	TransactItems                       []struct{ Put, Update *request }
	RequestItems                        map[string]struct{ Keys []map[string]value }
}

// RoundTrip applies one request at once.
func (d *Double) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	status, answer := d.Do(operation, body)
	return Answer(r, status, answer), nil
}

// Answer makes a response of a status and a JSON body.
func Answer(r *http.Request, status int, body any) *http.Response {
	text, _ := json.Marshal(body) // of maps and strings
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)),
	}
}

// Error makes the body of an error.
func Error(kind string) map[string]any {
	return map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + kind, "message": kind}
}

// Do applies an operation, in JSON, and returns what HTTP would.
func (d *Double) Do(operation string, body []byte) (status int, answer map[string]any) {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return http.StatusBadRequest, Error("SerializationException")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch operation {
	case "GetItem":
		answer = map[string]any{}
		if i := d.items[r.place()]; i != nil {
			answer["Item"] = i
		}
		return http.StatusOK, answer
	case "PutItem", "UpdateItem":
		next, reason := d.change(&r)
		if reason != nil {
			return failure(reason, "ConditionalCheckFailedException")
		}
		d.items[r.place()] = next
		answer = map[string]any{}
		if r.ReturnValues == "UPDATED_NEW" {
			answer["Attributes"] = r.updated(next)
		}
		return http.StatusOK, answer
	case "DeleteItem":
		delete(d.items, r.place())
		return http.StatusOK, map[string]any{}
	case "BatchGetItem":
		return http.StatusOK, d.batch(r)
	case "TransactWriteItems":
		return d.transact(r)
	}
	return http.StatusBadRequest, Error("UnknownOperationException")
}

func (d *Double) batch(r request) map[string]any {
	responses := map[string]any{}
	for table, asked := range r.RequestItems {
		items := []map[string]value{}
		for _, key := range asked.Keys {
			one := request{TableName: table, Key: key}
			if i := d.items[one.place()]; i != nil {
				items = append(items, i)
			}
		}
		responses[table] = items
	}
	return map[string]any{"Responses": responses, "UnprocessedKeys": map[string]any{}}
}

func failure(reason map[string]any, kind string) (int, map[string]any) {
	answer := Error(kind)
	if item, ok := reason["Item"]; ok {
		answer["Item"] = item
	}
	return http.StatusBadRequest, answer
}

func (d *Double) transact(r request) (int, map[string]any) {
	if len(r.TransactItems) > 100 {
		return http.StatusBadRequest, Error("ValidationException")
	}
	reasons, failed := make([]map[string]any, len(r.TransactItems)), false
	changed := map[string]map[string]value{}
	for i, w := range r.TransactItems {
		one := w.Put
		if one == nil {
			one = w.Update
		}
		reasons[i] = map[string]any{"Code": "None"}
		if _, twice := changed[one.place()]; twice {
			return http.StatusBadRequest, Error("ValidationException")
		}
		next, reason := d.change(one)
		if reason != nil {
			reasons[i], failed = reason, true
		}
		changed[one.place()] = next
	}
	if failed {
		answer := Error("TransactionCanceledException")
		answer["CancellationReasons"] = reasons
		return http.StatusBadRequest, answer
	}
	maps.Copy(d.items, changed)
	return http.StatusOK, map[string]any{}
}

func (r *request) place() string {
	k := r.Key
	if k == nil {
		k = r.Item
	}
	return fmt.Sprint(r.TableName, "/", k["pk"]["S"])
}

// change returns the item after a write, or why its condition failed.
func (d *Double) change(r *request) (next map[string]value, reason map[string]any) {
	old := d.items[r.place()]
	if r.ConditionExpression != "" {
		p := &parser{request: r, item: old, tokens: tokens(r.ConditionExpression)}
		if !p.or() || len(p.tokens) > 0 {
			reason = map[string]any{"Code": "ConditionalCheckFailed"}
			if r.ReturnValuesOnConditionCheckFailure == "ALL_OLD" && old != nil {
				reason["Item"] = old
			}
			return nil, reason
		}
	}
	if r.Item != nil {
		return r.Item, nil
	}
	next = maps.Clone(old)
	if next == nil {
		next = maps.Clone(r.Key)
	}
	p := &parser{request: r, item: old, tokens: tokens(r.UpdateExpression)}
	p.update(next)
	return next, nil
}

// updated are the attributes that an update names on its left sides.
func (r *request) updated(next map[string]value) map[string]value {
	out := map[string]value{}
	for _, name := range r.ExpressionAttributeNames {
		if v, ok := next[name]; ok && r.sets(name) {
			out[name] = v
		}
	}
	return out
}

func (r *request) sets(name string) bool {
	for placeholder, n := range r.ExpressionAttributeNames {
		if n == name {
			for _, t := range tokens(r.UpdateExpression) {
				if t == placeholder {
					return true
				}
			}
		}
	}
	return false
}

var token = regexp.MustCompile(`[#:]?\w+|<>|<=|>=|[<>=(),+]`)

// tokens splits an expression into names, values, operators and punctuation.
func tokens(expression string) []string { return token.FindAllString(expression, -1) }

// parser evaluates an expression while it reads it.
type parser struct {
	*request
	item   map[string]value
	tokens []string
}

func (p *parser) next() string {
	if len(p.tokens) == 0 {
		return ""
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	return t
}

func (p *parser) peek(t string) bool { return len(p.tokens) > 0 && p.tokens[0] == t }

func (p *parser) or() bool {
	ok := p.and()
	for p.peek("OR") {
		p.next()
		right := p.and()
		ok = ok || right
	}
	return ok
}

func (p *parser) and() bool {
	ok := p.primary()
	for p.peek("AND") {
		p.next()
		right := p.primary()
		ok = ok && right
	}
	return ok
}

func (p *parser) primary() bool {
	switch t := p.next(); t {
	case "(":
		ok := p.or()
		p.next()
		return ok
	case "attribute_exists", "attribute_not_exists":
		p.next()
		_, exists := p.operand(p.next())
		p.next()
		return exists == (t == "attribute_exists")
	default:
		left, hasLeft := p.operand(t)
		operator := p.next()
		right, hasRight := p.operand(p.next())
		if !hasLeft || !hasRight {
			return operator == "<>"
		}
		return holds(compare(left, right), operator)
	}
}

func holds(c int, operator string) bool {
	switch operator {
	case "=":
		return c == 0
	case "<>":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	case ">=":
		return c >= 0
	}
	panic("operator " + operator)
}

func (p *parser) operand(t string) (value, bool) {
	if strings.HasPrefix(t, ":") {
		v, ok := p.ExpressionAttributeValues[t]
		return v, ok
	}
	v, ok := p.item[p.name(t)]
	return v, ok
}

func (p *parser) name(t string) string {
	if n, ok := p.ExpressionAttributeNames[t]; ok {
		return n
	}
	return t
}

func (v value) number() int64 {
	text, _ := v["N"].(string)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%v is not a whole number", v))
	}
	return n
}

func compare(a, b value) int {
	if _, isNumber := a["N"]; isNumber {
		x, y := a.number(), b.number()
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	return strings.Compare(fmt.Sprint(a["S"]), fmt.Sprint(b["S"]))
}

func number(n int64) value { return value{"N": strconv.FormatInt(n, 10)} }

// update carries out ADD and SET. The right sides are of the item as it was.
func (p *parser) update(next map[string]value) {
	action := ""
	for len(p.tokens) > 0 {
		t := p.next()
		switch t {
		case "ADD", "SET":
			action = t
			continue
		case ",":
			continue
		}
		name := p.name(t)
		if action == "ADD" {
			more, _ := p.operand(p.next())
			var have int64
			if v, ok := p.item[name]; ok {
				have = v.number()
			}
			next[name] = number(have + more.number())
			continue
		}
		p.next() // =
		v, _ := p.operand(p.next())
		if p.peek("+") {
			p.next()
			more, _ := p.operand(p.next())
			v = number(v.number() + more.number())
		}
		next[name] = v
	}
}
