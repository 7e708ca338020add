package external

import (
	"context"
	"fmt"
	"net/url"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/ratelimit"
	"sekisho/functions/internal/store"
)

// Defaults of the upstream's limits.
const (
	DefaultBurst         = 5
	DefaultRatePerSecond = 1
	DefaultPublishPerDay = 1
)

// Names of the bucket and of the quota. A deployment has one upstream, and keeps its limits
// when that moves to another address, or a laptop's to another port.
const (
	bucketName = "external"
	quotaName  = "external.publish_content"
)

// Options are what differs between deployments beside the environment.
type Options struct {
	// Token makes what reads the upstream's token out of the parameter that a variable
	// names, nil where it names none. A nil Token sends none either.
	Token func(env boot.Env, variable string) (read func(context.Context) (string, error), err error)
	// AllowPrivate lets the upstream be on a private or loopback address.
	AllowPrivate bool
}

// FromEnv builds the function "external". Without an upstream in its environment it serves,
// and says so to every caller.
func FromEnv(open store.Open, o Options) boot.Build {
	return func(rt boot.Runtime) (boot.Invoker, error) {
		s, err := open(rt.Env, boot.UsageTable)
		if err != nil {
			return nil, err
		}
		d := deps{buckets: s.Buckets(), dailies: s.Dailies(), allowPrivate: o.AllowPrivate}
		if o.Token != nil {
			if d.token, err = o.Token(rt.Env, boot.UpstreamTokenParameter); err != nil {
				return nil, err
			}
		}
		h, err := newHandler(rt, d)
		if err != nil {
			return nil, err
		}
		return rest.Serve(rt, h.Operations())
	}
}

// Check says what is wrong with an environment, without making anything.
func Check(env boot.Env) error {
	_, err := newHandler(boot.Runtime{Env: env}, deps{})
	return err
}

// deps are what the handler works with beside its environment.
type deps struct {
	buckets      ratelimit.BucketStore
	dailies      ratelimit.DailyStore
	token        func(context.Context) (string, error)
	allowPrivate bool
}

func newHandler(rt boot.Runtime, d deps) (*Handler, error) {
	base, err := baseURL(rt.Env)
	if err != nil || base == nil {
		return &Handler{}, err
	}
	limit, daily, err := limits(rt.Env)
	if err != nil {
		return nil, err
	}
	timeout, err := rt.Env.Seconds(boot.UpstreamTimeoutSeconds, outbound.DefaultTimeout)
	if err != nil {
		return nil, err
	}
	client, err := outbound.New(outbound.Config{
		Upstream: base.Host, Timeout: timeout, Reserve: reserve, AllowPrivate: d.allowPrivate,
	})
	if err != nil {
		return nil, fmt.Errorf("upstream: %w", err)
	}
	h := &Handler{
		Base: base, Client: client, Log: rt.Log, Now: rt.Now,
		// Waits are slept by the real clock, so the bucket reads no other.
		Bucket: &ratelimit.Limiter{Store: d.buckets, Bucket: bucketName, Limit: limit},
		Daily:  &ratelimit.Daily{Store: d.dailies, Quota: quotaName, Limit: daily, Now: rt.Now},
	}
	if d.token != nil {
		h.Token = &Token{Fetch: d.token, Now: rt.Now}
	}
	return h, nil
}

func limits(env boot.Env) (bucket ratelimit.Limit, daily int, err error) {
	if bucket.Burst, err = env.Int(boot.UpstreamBurst, DefaultBurst); err != nil {
		return bucket, 0, err
	}
	if bucket.PerSecond, err = env.Float(boot.UpstreamRatePerSecond, DefaultRatePerSecond); err != nil {
		return bucket, 0, err
	}
	if err := bucket.Validate(); err != nil {
		return bucket, 0, fmt.Errorf("%s, %s: %w", boot.UpstreamBurst, boot.UpstreamRatePerSecond, err)
	}
	daily, err = env.Int(boot.PublishPerDay, DefaultPublishPerDay)
	return bucket, daily, err
}

// baseURL takes no credentials and no query: the environment, and a plan of Terraform, would
// show them in clear text.
func baseURL(env boot.Env) (*url.URL, error) {
	text, err := env.URL(boot.UpstreamURL)
	if err != nil || text == "" {
		return nil, err
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%s: want an address without credentials, query and fragment; the token has a place of its own", boot.UpstreamURL)
	}
	return u, nil
}
