package external

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/config"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/ratelimit"
)

// Defaults of the upstream's limits.
const (
	DefaultBurst         = 5
	DefaultRatePerSecond = 1
	DefaultPublishPerDay = 1
)

// Names of the bucket and of the quota. A deployment has one upstream, and a move of it to
// another address, or on a laptop to another port, gives nobody a second publication.
const (
	bucketName = "external"
	quotaName  = "external.publish_content"
)

// Deps are what the function works with, beside its environment.
type Deps struct {
	Buckets ratelimit.BucketStore
	Dailies ratelimit.DailyStore
	// Token reads the upstream's token; nil sends none.
	Token func(context.Context) (string, error)
	// AllowPrivate lets the upstream be on a private or loopback address.
	AllowPrivate bool
	Log          *zap.Logger
	Now          func() time.Time
}

// New makes the server of the function "external". Without an upstream in its environment
// it serves, and answers every call with just that.
func New(env config.Env, d Deps) (*rest.Server, error) {
	api, err := contract.Load()
	if err != nil {
		return nil, err
	}
	h, err := newHandler(env, d)
	if err != nil {
		return nil, err
	}
	return rest.New(api, "external", h.Operations(), d.Log, d.Now)
}

// Check says what is wrong with an environment, without making anything.
func Check(env config.Env) error {
	_, err := newHandler(env, Deps{})
	return err
}

func newHandler(env config.Env, d Deps) (*Handler, error) {
	base, err := baseURL(env)
	if err != nil || base == nil {
		return &Handler{}, err
	}
	limit, daily, err := limits(env)
	if err != nil {
		return nil, err
	}
	timeout, err := env.Seconds(config.UpstreamTimeoutSeconds, outbound.DefaultTimeout)
	if err != nil {
		return nil, err
	}
	client, err := outbound.New(outbound.Config{
		Upstream: base.Host, Timeout: timeout, Reserve: reserve, AllowPrivate: d.AllowPrivate,
	})
	if err != nil {
		return nil, fmt.Errorf("upstream: %w", err)
	}
	h := &Handler{
		Base: base, Client: client, Log: d.Log, Now: d.Now,
		// Waits are slept by the real clock, so the bucket reads no other.
		Bucket: &ratelimit.Limiter{Store: d.Buckets, Bucket: bucketName, Limit: limit},
		Daily:  &ratelimit.Daily{Store: d.Dailies, Quota: quotaName, Limit: daily, Now: d.Now},
	}
	if d.Token != nil {
		h.Token = &Token{Fetch: d.Token, Now: d.Now}
	}
	return h, nil
}

func limits(env config.Env) (bucket ratelimit.Limit, daily int, err error) {
	if bucket.Burst, err = env.Int(config.UpstreamBurst, DefaultBurst); err != nil {
		return bucket, 0, err
	}
	if bucket.PerSecond, err = env.Float(config.UpstreamRatePerSecond, DefaultRatePerSecond); err != nil {
		return bucket, 0, err
	}
	if err := bucket.Validate(); err != nil {
		return bucket, 0, fmt.Errorf("%s, %s: %w", config.UpstreamBurst, config.UpstreamRatePerSecond, err)
	}
	daily, err = env.Int(config.PublishPerDay, DefaultPublishPerDay)
	return bucket, daily, err
}

// baseURL takes no credentials and no query: they would be in clear text in the environment
// and in a plan.
func baseURL(env config.Env) (*url.URL, error) {
	text, err := env.URL(config.UpstreamURL)
	if err != nil || text == "" {
		return nil, err
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%s: want an address without credentials, query and fragment; the token has a setting of its own", config.UpstreamURL)
	}
	return u, nil
}
