// Package upstream is what the tools external.* call on a laptop: go-httpbin, and on top of
// it the two resources that the tools use. It fails as it is asked to, so that a look at a
// failure needs no upstream that has one.
package upstream

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/mccutchen/go-httpbin/v2/httpbin"
)

// longestDelay is above the timeout of a call, so that timeouts can be seen.
const longestDelay = time.Minute

// Handler serves all of httpbin, where ?retry_after=N adds a Retry-After, and
//
//	GET  /stats/{id}
//	POST /publications    {"slug": "…"}
//
// for who sends the token. The answer is httpbin's: what was sent, but for the token. Some ids and slugs stand
// for failures: status-500, status-429-retry-after-30, delay-20 (seconds).
func Handler(token string) http.Handler {
	bin := withRetryAfter(httpbin.New(httpbin.WithMaxDuration(longestDelay), httpbin.WithExcludeHeaders("Authorization")))
	mux := http.NewServeMux()
	mux.Handle("/", bin)
	mux.HandleFunc("GET /stats/{id}", func(w http.ResponseWriter, r *http.Request) {
		behave(bin, w, r, token, r.PathValue("id"))
	})
	mux.HandleFunc("POST /publications", func(w http.ResponseWriter, r *http.Request) {
		var publication struct{ Slug string }
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<10)).Decode(&publication); err != nil {
			http.Error(w, "want a slug", http.StatusBadRequest)
			return
		}
		r.Body = http.NoBody
		behave(bin, w, r, token, publication.Slug)
	})
	return mux
}

// withRetryAfter adds what httpbin lacks.
func withRetryAfter(bin http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s := r.URL.Query().Get("retry_after"); s != "" {
			w.Header().Set("Retry-After", s)
		}
		bin.ServeHTTP(w, r)
	})
}

var (
	statusName = regexp.MustCompile(`^status-([1-5]\d\d)(?:-retry-after-(\d+))?$`)
	delayName  = regexp.MustCompile(`^delay-(\d{1,2})$`)
)

// behave answers as the name says.
func behave(bin http.Handler, w http.ResponseWriter, r *http.Request, token, name string) {
	if r.Header.Get("Authorization") != "Bearer "+token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	path, query := "/anything"+r.URL.Path, ""
	if m := statusName.FindStringSubmatch(name); m != nil {
		path = "/status/" + m[1]
		if m[2] != "" {
			query = "retry_after=" + m[2]
		}
	}
	if m := delayName.FindStringSubmatch(name); m != nil {
		path = fmt.Sprintf("/delay/%ss", m[1])
	}
	r = r.Clone(r.Context())
	r.URL.Path, r.URL.RawPath, r.URL.RawQuery = path, "", query
	bin.ServeHTTP(w, r)
}
