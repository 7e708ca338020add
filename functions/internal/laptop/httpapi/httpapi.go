package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"sekisho/functions/internal/laptop/front"
	"sekisho/functions/internal/laptop/lambda"
)

// Timeout is how long an HTTP API waits for its integration, at most and by default.
const Timeout = 30 * time.Second

type httpAPI struct {
	HTTPAPI
	throttles *front.Throttles
}

func (a *httpAPI) admit(r *http.Request, now time.Time) (string, error) {
	path, _ := front.Target(r)
	for _, route := range []string{r.Method + " " + path, "ANY " + path} {
		if !slices.Contains(a.Routes, route) {
			continue
		}
		if !a.throttles.Take(route, a.Throttles, now) {
			return "", errThrottled
		}
		return route, nil
	}
	return "", errNoRoute
}

func (a *httpAPI) behind(route string) string { return a.Behind[route] }

func (a *httpAPI) variables() map[string]string { return a.StageVariables }

func (*httpAPI) mostBody() int64 { return 10 << 20 }

func (*httpAPI) sign(h http.Header, id string) { h.Set("Apigw-Requestid", id) }

func (*httpAPI) serve(d *Door, w http.ResponseWriter, function string, payload []byte) error {
	raw, err := d.config.Functions.Invoke(function, payload, Timeout)
	if err != nil {
		return err
	}
	if len(raw) > lambda.MaxPayload {
		return malformed{fmt.Errorf("%d bytes; Lambda returns at most %d", len(raw), lambda.MaxPayload)}
	}
	a, err := parse(raw)
	if err != nil {
		return malformed{err}
	}
	write(w, a.status, a.header)
	_, _ = w.Write(a.body) // a client that has gone is no fault of ours
	return nil
}

// answer of a function in format 2.0.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// parse reads an answer. One without a status is the body itself.
func parse(raw []byte) (a answer, err error) {
	var read struct {
		StatusCode      int               `json:"statusCode"`
		Headers         map[string]string `json:"headers"`
		Cookies         []string          `json:"cookies"`
		Body            string            `json:"body"`
		IsBase64Encoded bool              `json:"isBase64Encoded"`
	}
	if !json.Valid(raw) {
		return a, errors.New("the answer is not JSON")
	}
	if err := json.Unmarshal(raw, &read); err != nil || read.StatusCode == 0 {
		return answer{http.StatusOK, http.Header{"Content-Type": {"application/json"}}, raw}, nil
	}
	if read.StatusCode < 200 || read.StatusCode > 599 {
		return a, fmt.Errorf("statusCode %d is not between 200 and 599", read.StatusCode)
	}
	a = answer{read.StatusCode, http.Header{}, []byte(read.Body)}
	for name, value := range read.Headers {
		a.header.Set(name, value)
	}
	for _, cookie := range read.Cookies {
		a.header.Add("Set-Cookie", cookie)
	}
	if read.IsBase64Encoded {
		if a.body, err = base64.StdEncoding.DecodeString(read.Body); err != nil {
			return a, fmt.Errorf("body: %w", err)
		}
	}
	return a, nil
}

func (*httpAPI) refuse(w http.ResponseWriter, err error) {
	status, message := http.StatusInternalServerError, "Internal Server Error"
	switch {
	case errors.Is(err, errNoRoute):
		status, message = http.StatusNotFound, "Not Found"
	case errors.Is(err, errThrottled):
		status, message = http.StatusTooManyRequests, "Too Many Requests"
	case errors.Is(err, errHeaders):
		status, message = http.StatusRequestHeaderFieldsTooLarge, "Request Header Fields Too Large"
	case errors.Is(err, errTooLarge):
		status, message = http.StatusRequestEntityTooLarge, "Request Entity Too Large"
	case errors.Is(err, lambda.ErrThrottled), errors.Is(err, lambda.ErrNotWaited):
		status, message = http.StatusServiceUnavailable, "Service Unavailable"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"message":"`+message+`"}`)
}
