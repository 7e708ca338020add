package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/admission"
	"sekisho/functions/internal/apikey"
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/aws/dynamo/dynamotest"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler/authorizer"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/usage"
	"sekisho/tests/bench"
)

// instant is a DynamoDB that answers from memory what it answered first, so that what is measured is
// the caller alone.
type instant struct {
	double  *dynamotest.Double
	mu      sync.Mutex
	answers map[string]http.Response
	bodies  map[string][]byte
}

func newInstant() *instant {
	return &instant{double: dynamotest.New(), answers: map[string]http.Response{}, bodies: map[string][]byte{}}
}

func (i *instant) RoundTrip(q *http.Request) (*http.Response, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	operation := q.Header.Get("X-Amz-Target")
	if _, ok := i.answers[operation]; !ok {
		a, err := i.double.RoundTrip(q)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(a.Body)
		if err != nil {
			return nil, err
		}
		a.Header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)) // the SDK checks it
		i.answers[operation], i.bodies[operation] = *a, body
	} else if _, err := io.Copy(io.Discard, q.Body); err != nil {
		return nil, err
	}
	a := i.answers[operation]
	a.Request, a.Body = q, io.NopCloser(bytes.NewReader(i.bodies[operation]))
	return &a, nil
}

// oneKey is a store with one key, over any counters.
type oneKey struct {
	store.Store
	secret apikey.Key
	key    account.Key
	usage  usage.Store
}

func newOneKey(plan string, counters usage.Store) (oneKey, error) {
	secret, err := apikey.New()
	id := secret.Hash().ID()
	return oneKey{secret: secret, usage: counters, key: account.Key{ID: id, Hash: secret.Hash(), Meter: id, UserID: "user", Plan: plan}}, err
}

func (o oneKey) Accounts() account.Store { return keyOnly{key: o.key} }
func (o oneKey) Usage() usage.Store      { return o.usage }

type keyOnly struct {
	account.Store
	key account.Key
}

func (k keyOnly) Key(_ context.Context, id string) (account.Key, error) {
	if id != k.key.ID {
		return account.Key{}, account.ErrNotFound
	}
	return k.key, nil
}

// authorizerOver builds the authorizer with one key, as its main does.
func (r *run) authorizerOver(plan string, transport http.RoundTripper) (*authorizer.Handler, apikey.Key) {
	r.Helper()
	one, err := newOneKey(plan, dynamo.New(dynamotest.Client(transport), dynamo.Tables{Usage: "usage"}).Usage())
	r.must(err)
	env := boot.Map(map[string]string{boot.Plans: account.Plans{"large": usage.PerMonth(1e12), "one": usage.PerMonth(1)}.String()})
	log, err := boot.NewLogger(env, "authorizer", io.Discard)
	r.must(err)
	rt := boot.Runtime{Function: "authorizer", Env: env, Log: log, Now: time.Now}
	gate, err := admission.FromEnv(rt, one)
	r.must(err)
	keys, err := admission.KeysFromEnv(rt, one)
	r.must(err)
	api, err := contract.Default()
	r.must(err)
	return &authorizer.Handler{API: api, Keys: keys, Gate: gate, Log: log, Now: time.Now}, one.secret
}

// authorizing is the event of a REST API, with the headers that a client and CloudFront send.
func authorizing(secret string) events.APIGatewayCustomAuthorizerRequestTypeRequest {
	e := events.APIGatewayCustomAuthorizerRequestTypeRequest{
		Type: "REQUEST", MethodArn: "arn:aws:execute-api:us-east-1:123456789012:abcdef1234/live/GET/v1/postal/1000001",
		Resource: "/v1/postal/{postal_code}", Path: "/v1/postal/1000001", HTTPMethod: "GET",
		PathParameters: map[string]string{"postal_code": "1000001"},
		Headers:        headersWith(secret), MultiValueHeaders: map[string][]string{},
	}
	for name, value := range e.Headers {
		e.MultiValueHeaders[name] = []string{value}
	}
	e.RequestContext.RequestID = "6f0e2a3c-1b2d-4c5e-8f90-0123456789ab"
	e.RequestContext.Identity.SourceIP = "203.0.113.9"
	return e
}

func headersWith(secret string) map[string]string {
	return map[string]string{
		"Accept": "*/*", "Accept-Encoding": "gzip, br", "Content-Type": "application/json", "Host": "abcdef1234.execute-api.us-east-1.amazonaws.com",
		"User-Agent": "agent/1.0", "X-Amzn-Trace-Id": "Root=1-67891233-abcdef012345678912345678", "X-Forwarded-For": "203.0.113.9",
		"X-Forwarded-Port": "443", "X-Forwarded-Proto": "https", "x-api-key": secret,
	}
}

// captured finds the write that an admission is.
func (r *run) captured() *dynamodb.UpdateItemInput {
	r.Helper()
	var input *dynamodb.UpdateItemInput
	options := dynamotest.Client(dynamotest.New()).Options()
	options.APIOptions = append(options.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("capture", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			if u, ok := in.Parameters.(*dynamodb.UpdateItemInput); ok {
				input = u
			}
			return next.HandleInitialize(ctx, in)
		}), middleware.After)
	})
	now := time.Now()
	counters := dynamo.New(dynamodb.New(options), dynamo.Tables{Usage: "usage"}).Usage()
	d, err := counters.Admit(r.Context(), usage.Admission{ID: usage.NewAdmissionID(now), At: now, Meter: "key_0123456789abcdef", Operation: "pl", Units: 1, Limits: usage.PerMonth(1e12)})
	r.must(err)
	if !d.Admitted || input == nil {
		r.Fatalf("%+v: no write was captured", d)
	}
	return input
}

func authorizerInProcess(r *run) {
	t := r.table("authorizer in process", "CPU of one decision: the whole handler, from the event as a struct to the policy, beside nothing but the AWS SDK's `UpdateItem` of the same expression. "+
		"DynamoDB answers at once, from memory; the key is known, as in all calls but an instance's first.",
		bench.CPU, "÷ bare", bench.Allocs, bench.Bytes)
	ctx, input := r.Context(), r.captured()
	client := dynamotest.Client(newInstant())
	bare := func() {
		if _, err := client.UpdateItem(ctx, input); err != nil {
			r.Fatal(err)
		}
	}
	handling := func(h *authorizer.Handler, e events.APIGatewayCustomAuthorizerRequestTypeRequest, effect string) func() {
		return func() {
			answer, err := h.Handle(ctx, e)
			if effect == "" && err == nil || effect != "" && (err != nil || answer.PolicyDocument.Statement[0].Effect != effect) {
				r.Fatal(answer, err)
			}
		}
	}
	h, secret := r.authorizerOver("large", newInstant())
	used, usedUp := r.authorizerOver("one", dynamotest.New())
	handling(used, authorizing(usedUp.Reveal()), "Allow")()
	asJSON, payload := boot.Handle(h.Handle), r.encode(authorizing(secret.Reveal()))
	r.perCall(t, []op{
		{"bare UpdateItem", bare},
		{"authorizer", handling(h, authorizing(secret.Reveal()), "Allow")},
		{"authorizer, event and answer as JSON", func() {
			if answer, err := asJSON.Invoke(ctx, payload); err != nil || !strings.Contains(string(answer), `"Allow"`) {
				r.Fatal(string(answer), err)
			}
		}},
		{"denied from memory", handling(used, authorizing(usedUp.Reveal()), "Deny")},
		{"malformed key", handling(h, authorizing("sekisho_no"), "")},
	}, bench.Ratio{Column: "÷ bare", Of: bench.CPU, To: "bare UpdateItem"})
}

// op is something that is done in this process, many times.
type op struct {
	name string
	do   func()
}

// perCall measures ops for a quarter of a second each per round.
func (r *run) perCall(t *bench.Table, ops []op, ratios ...bench.Ratio) {
	r.Helper()
	var variants []bench.Variant
	for _, o := range ops {
		variants = append(variants, bench.Variant{Name: o.name, Measure: func() (map[string]float64, error) {
			return bench.PerCall(r.lasting(250*time.Millisecond), o.do), nil
		}})
	}
	r.interleave(t, variants, ratios...)
}

func (r *run) encode(v any) []byte {
	r.Helper()
	payload, err := json.Marshal(v)
	if err != nil {
		r.Fatal(fmt.Errorf("encode %T: %w", v, err))
	}
	return payload
}
