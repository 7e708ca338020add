package outbound

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// JSON parses an answer whose content type is JSON (application/json or any +json).
// An answer that by its status has no body (204, 205) is the zero T.
func JSON[T any](r Response) (T, error) {
	var v T
	if r.Status == http.StatusNoContent || r.Status == http.StatusResetContent {
		return v, nil
	}
	if !IsJSON(r.Header) {
		return v, fmt.Errorf("content type %q where JSON was expected", mediaType(r.Header))
	}
	if len(r.Body) == 0 {
		return v, errors.New("empty body where JSON was expected")
	}
	err := json.Unmarshal(r.Body, &v)
	return v, err
}

// IsJSON reports whether the content type is JSON.
func IsJSON(h http.Header) bool {
	m := mediaType(h)
	return m == "application/json" || strings.HasSuffix(m, "+json")
}

func mediaType(h http.Header) string {
	m, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return "" // an upstream's malformed header isn't quoted
	}
	return m
}
