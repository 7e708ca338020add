package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/store"
)

// signingKeyAge is how long a new signing key may go unnoticed. Until then requests are signed
// with the old one, which verifiers accept beside it.
const signingKeyAge = 5 * time.Minute

// Options are what differs between deployments beside the environment.
type Options struct {
	// Secret makes what reads the secret at a place; nil if the place names none.
	Secret func(boot.Env, backend.Place) (read func(context.Context) (string, error), err error)
	// Invoker makes what invokes the function that the settings name.
	Invoker func(boot.Env, backend.Settings) (backend.Invoker, error)
}

// FromEnv builds the function of a backend. Without a backend in its environment it serves, and
// says so to every caller. The store is opened only for limits that the settings name: most of a
// cold start would be its SDK.
func FromEnv(open store.Open, o Options) boot.Build {
	return func(rt boot.Runtime) (boot.Invoker, error) {
		api, err := contract.Load(rt.Env)
		if err != nil {
			return nil, err
		}
		settings, err := boot.Parse(rt.Env, boot.Backend, backend.Parse)
		if err != nil {
			return nil, err
		}
		rt.Function = cmp.Or(settings.Name, rt.Function)
		h, err := newHandler(rt, api, settings, open, o)
		if err != nil {
			return nil, fmt.Errorf("backend %s: %w", rt.Function, err)
		}
		server, err := rest.New(api, rt.Function, h.Operations(), rt.Log, rt.Now)
		if err != nil {
			return nil, err
		}
		return boot.Handle(server.Handle), nil
	}
}

func newHandler(rt boot.Runtime, api *contract.API, s backend.Settings, open store.Open, o Options) (*Handler, error) {
	h := &Handler{Name: rt.Function, API: api, Log: rt.Log, Now: rt.Now}
	if !s.Configured() {
		return h, nil
	}
	var err error
	if h.Backend, err = newAsker(rt, api, s, o); err != nil {
		return nil, err
	}
	if s.Signing != nil {
		if h.Signing, err = newSecret(rt, o, *s.Signing); err != nil {
			return nil, fmt.Errorf("signing: %w", err)
		}
		h.Signing.MaxAge = signingKeyAge
	}
	return h, h.limit(rt, s, open)
}

func newAsker(rt boot.Runtime, api *contract.API, s backend.Settings, o Options) (asker, error) {
	most := cmp.Or(s.MaxAnswerBytes, int64(api.Limits.AnswerBytes))
	if s.FunctionARN != "" {
		if o.Invoker == nil {
			return nil, errors.New("nothing here invokes functions")
		}
		invoker, err := o.Invoker(rt.Env, s)
		return byInvocation{function: functionName(s.FunctionARN), invoker: invoker, most: most}, err
	}
	base, err := s.Base()
	if err != nil {
		return nil, err
	}
	client, err := outbound.New(outbound.Config{
		Upstream: base.Host, Timeout: s.Timeout(), Reserve: reserveTime, MaxBytes: most,
		AllowPrivate: s.Private, SameOrigin: true,
	})
	if err != nil {
		return nil, err
	}
	b := overHTTP{client: client, base: continued(base), host: base.Host, auth: s.Auth}
	if s.Auth != nil {
		if b.credential, err = newSecret(rt, o, s.Auth.Place); err != nil {
			return nil, fmt.Errorf("auth: %w", err)
		}
	}
	return b, nil
}

func newSecret(rt boot.Runtime, o Options, at backend.Place) (*Secret, error) {
	if o.Secret == nil {
		return nil, errors.New("nothing here reads secrets")
	}
	read, err := o.Secret(rt.Env, at)
	if err != nil {
		return nil, err
	}
	return &Secret{Fetch: read, Now: rt.Now}, nil
}

// limit opens the store if anything is limited. A backend keeps its limits when it moves to
// another address.
func (h *Handler) limit(rt boot.Runtime, s backend.Settings, open store.Open) error {
	perDay, err := h.perDay(s)
	if err != nil {
		return err
	}
	bucket, limited := s.Limit()
	if !limited && len(perDay) == 0 {
		return nil
	}
	st, err := open(rt.Env, boot.UsageTable)
	if err != nil {
		return err
	}
	if limited {
		// Waits are slept by the real clock, so the bucket reads no other.
		h.Gate = (&ratelimit.Limiter{Store: st.Buckets(), Bucket: h.Name, Limit: bucket}).Wait
	}
	h.PerDay = map[string]*ratelimit.Daily{}
	for operation, n := range perDay {
		h.PerDay[operation] = &ratelimit.Daily{Store: st.Dailies(), Quota: operation, Limit: n, Now: rt.Now}
	}
	return nil
}

// perDay has the contract's limits, and those of the settings in their place.
func (h *Handler) perDay(s backend.Settings) (map[string]int, error) {
	limits, own := map[string]int{}, map[string]bool{}
	for _, op := range h.API.ByFunction(h.Name) {
		own[op.ID] = true
		if op.PerDay > 0 {
			limits[op.ID] = op.PerDay
		}
	}
	for operation := range s.PerDay {
		if !own[operation] {
			return nil, fmt.Errorf("per_day: %s is no operation of this backend", operation)
		}
	}
	maps.Copy(limits, s.PerDay)
	return limits, nil
}

// functionName is the name in an ARN, for logs; a name is itself.
func functionName(arn string) string {
	_, name, ok := strings.Cut(arn, ":function:")
	if !ok {
		return arn
	}
	return name
}
