package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/laptop/front"
	"sekisho/functions/internal/laptop/lambda"
)

// Functions is what a door needs of Lambda; see package lambda for the errors.
type Functions interface {
	Invoke(function string, payload []byte, limit time.Duration) ([]byte, error)
	InvokeStream(function string, payload []byte, limit time.Duration) (io.ReadCloser, error)
}

// Config says what a Door serves.
type Config struct {
	Functions Functions
	// Function is the name of the one behind the door, or behind those of its routes that name no
	// other.
	Function string
	// Domain is the host, with its port, that requestContext names.
	Domain string
	// Log gets why a caller was given no answer; nil means nothing.
	Log *zap.Logger
	// Now is the clock of timestamps and throttles; nil means time.Now.
	Now func() time.Time
}

// HTTPAPI is what an HTTP API has and a function URL lacks.
type HTTPAPI struct {
	// Routes are those of the API, such as ANY /mcp. Paths are taken as they are: one with a
	// final slash is another.
	Routes []string
	// Behind are the functions of routes that lead to another than the Config's.
	Behind map[string]string
	// StageVariables are in every event.
	StageVariables map[string]string
	// Throttle of each route that has none of its own in Throttles; nil means none.
	Throttle  *front.Throttle
	Throttles map[string]front.Throttle
}

// Door serves the functions behind it. It is safe for concurrent use.
type Door struct {
	config Config
	kind
	bodies *front.Bodies
}

// kind is an HTTP API or a function URL.
type kind interface {
	// admit decides whether a request reaches the function, and by which route.
	admit(r *http.Request, now time.Time) (route string, err error)
	variables() map[string]string
	// mostBody is that of a request, in bytes.
	mostBody() int64
	// behind is the function that a route leads to; "" for the Config's.
	behind(route string) string
	// serve invokes a function and writes its answer. Nothing is written with an error.
	serve(d *Door, w http.ResponseWriter, function string, payload []byte) error
	// refuse answers in the place of the function.
	refuse(w http.ResponseWriter, err error)
	// sign gives the answer the request's ID, to look it up in logs by.
	sign(h http.Header, id string)
}

// NewHTTPAPI makes the door of an HTTP API.
func NewHTTPAPI(c Config, a HTTPAPI) *Door {
	return newDoor(c, &httpAPI{HTTPAPI: a, throttles: front.NewThrottles(a.Throttle)})
}

// NewFunctionURL makes the door of a function URL, with the invoke mode RESPONSE_STREAM.
func NewFunctionURL(c Config) *Door { return newDoor(c, functionURL{}) }

func newDoor(c Config, k kind) *Door {
	if c.Log == nil {
		c.Log = zap.NewNop()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Door{config: c, kind: k, bodies: front.NewBodies(front.MaxBodies)}
}

// maxHeaders is the request line and the values of all headers together, in bytes.
const maxHeaders = 10_240

// The ways in which a request gets no answer of the function, beside those of package lambda.
var (
	errHeaders   = errors.New("the headers are too large")
	errNoRoute   = errors.New("there is no such route")
	errThrottled = errors.New("over the throttle of the route")
	errTooLarge  = errors.New("the request is too large")
)

// malformed is an answer of the function that no client can be given.
type malformed struct{ error }

// ServeHTTP serves one request.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := lambda.NewRequestID()
	d.sign(w.Header(), id)
	err := d.answer(w, r, id)
	if err == nil {
		return
	}
	d.config.Log.Info("the door answered by itself", zap.String("request_id", id), zap.Error(err))
	d.refuse(w, err)
}

func (d *Door) answer(w http.ResponseWriter, r *http.Request, id string) error {
	if front.HeaderSize(r) > maxHeaders {
		return errHeaders
	}
	now := d.config.Now()
	route, err := d.admit(r, now)
	if err != nil {
		return err
	}
	if err := front.CheckLength(w, r, d.mostBody()); err != nil {
		return errTooLarge
	}
	body, done, err := d.bodies.Read(w, r, d.mostBody())
	defer done()
	switch {
	case errors.Is(err, front.ErrBodyTooLarge):
		return errTooLarge
	case errors.Is(err, front.ErrNoMemory):
		return errThrottled
	case err != nil:
		return fmt.Errorf("read the body: %w", err)
	}
	payload, err := d.event(r, route, id, body, now)
	if err != nil {
		return err
	}
	if len(payload) > lambda.MaxPayload {
		return errTooLarge
	}
	return d.serve(d, w, cmp.Or(d.behind(route), d.config.Function), payload)
}

// isDropped: the header is the connection's, and goes no further in either direction.
func isDropped(name string) bool {
	return slices.Contains([]string{
		"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	}, name)
}

// write sends status and headers of an answer.
func write(w http.ResponseWriter, status int, header http.Header) {
	h := w.Header()
	for name, values := range header {
		if name = http.CanonicalHeaderKey(name); !isDropped(name) && name != "Content-Length" {
			h[name] = values
		}
	}
	if h.Get("Content-Type") == "" {
		h["Content-Type"] = nil // or net/http would guess
	}
	w.WriteHeader(status)
}
