// Package external serves the operations of the function "external": calls to one upstream,
// within its rate limit, its daily quota and the function's own deadline.
package external

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/problem"
	"sekisho/functions/internal/ratelimit"
)

// Handler serves the operations. The zero value has no upstream, and answers so to every call.
type Handler struct {
	// Base is the upstream's URL, below which its resources lie; nil if none is configured.
	Base   *url.URL
	Client *outbound.Client
	// Token is sent to the upstream as a bearer token; nil sends none.
	Token *Token
	// Bucket limits how often the upstream is called, by all instances together.
	Bucket *ratelimit.Limiter
	// Daily limits publications per UTC day.
	Daily *ratelimit.Daily
	Log   *zap.Logger
	Now   func() time.Time
}

// Object is the upstream's JSON object, each member as it was written: a number does not
// lose digits on the way.
type Object map[string]json.RawMessage

// StatsRequest asks for the figures of a resource.
type StatsRequest struct {
	ResourceID string `json:"resource_id"`
}

// Stats are the figures of a resource.
type Stats struct {
	ResourceID string `json:"resource_id"`
	Stats      Object `json:"stats"`
}

// PublicationRequest names what to publish.
type PublicationRequest struct {
	Slug string `json:"slug"`
}

// Publication is something that was published.
type Publication struct {
	Slug        string `json:"slug"`
	PublishedAt string `json:"published_at"`
	DailyLimit  int    `json:"daily_limit"`
	Answer      Object `json:"answer"`
}

// Operations lists what the function serves.
func (h *Handler) Operations() map[string]rest.Operation {
	return map[string]rest.Operation{
		"external.fetch_stats":     rest.Typed(h.fetchStats),
		"external.publish_content": rest.Typed(h.publishContent),
	}
}

func (h *Handler) fetchStats(ctx context.Context, call rest.Call, in StatsRequest) (Stats, error) {
	if h.Base == nil {
		return Stats{}, problem.New(problem.UpstreamNotConfigured, "")
	}
	stats, err := h.call(ctx, call, outbound.Request{URL: h.Base.JoinPath("stats", in.ResourceID).String()})
	if err != nil {
		return Stats{}, asProblem(err)
	}
	return Stats{ResourceID: in.ResourceID, Stats: stats}, nil
}

// publishContent takes a place in the day before it waits for one in the bucket: callers that
// come when the day is used up must not slow the upstream's other callers down.
func (h *Handler) publishContent(ctx context.Context, call rest.Call, in PublicationRequest) (Publication, error) {
	if h.Base == nil {
		return Publication{}, problem.New(problem.UpstreamNotConfigured, "")
	}
	body, err := json.Marshal(in)
	if err != nil {
		return Publication{}, err
	}
	place, err := h.Daily.Reserve(ctx)
	if err != nil {
		return Publication{}, asProblem(err)
	}
	answer, err := h.call(ctx, call, outbound.Request{
		Method: http.MethodPost, URL: h.Base.JoinPath("publications").String(), Body: body,
		Header: http.Header{"Content-Type": {"application/json"}},
		// The same content has the same key, so that an upstream that heeds such keys
		// publishes it once, however often it is sent. Whether this one does is not known,
		// so a publication that may have happened is reported as such.
		IdempotencyKey: "publish-content/" + in.Slug,
	})
	h.settle(ctx, place, err)
	if err != nil {
		return Publication{}, asProblem(err)
	}
	return Publication{
		Slug: in.Slug, PublishedAt: h.Now().UTC().Format(time.RFC3339), DailyLimit: h.Daily.Limit, Answer: answer,
	}, nil
}
