package cost_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"strings"

	"sekisho/functions/internal/money/cost"
)

var (
	linked = regexp.MustCompile(`(?:href|src)="(/page/[^"]+)"`)
	// asked are the requests of the view that a visit shows, as the page's own list has them.
	asked = regexp.MustCompile(`usage: \[("[^\]]*")\]`)
)

// visits does n times what a browser does that shows the usage of a key with a year of history: with
// nothing in its cache, and with everything.
func (w *world) visits(n int) map[cost.Visit]cost.Counts {
	w.t.Helper()
	key := w.key(plentiful, "visitor")
	for range 13 {
		w.call(cost.REST, key, "1000001")
		w.Pass(w.Now().AddDate(0, 1, 0).Sub(w.Now()))
	}
	page := w.fetch("/", "", "")
	api := ""
	files := linked.FindAllStringSubmatch(page.text, -1)
	for _, m := range files {
		if strings.HasSuffix(m[1], "/api.js") {
			api = w.fetch(m[1], "", "").text
		}
	}
	requests := asked.FindStringSubmatch(api)
	if len(files) < 5 || requests == nil {
		w.t.Fatalf("the page links to %q, and its view asks for %q", files, requests)
	}
	show := func() (size int64) {
		w.forget()
		for request := range strings.SplitSeq(requests[1], ", ") {
			size += w.fetch(strings.TrimPrefix(strings.Trim(request, `"`), "GET "), key, "").size
		}
		return size
	}
	return map[cost.Visit]cost.Counts{
		cost.FirstVisit: w.count(n, false, func() int64 {
			size := w.fetch("/", "", "").size
			for _, m := range files {
				size += w.fetch(m[1], "", "").size
			}
			return size + show()
		}),
		cost.LaterVisit: w.count(n, false, func() int64 { return w.fetch("/", "", page.tag).size + show() }),
	}
}

type fetched struct {
	text, tag string
	size      int64
}

// fetch gets something as a browser does, compressed.
func (w *world) fetch(path, key, tag string) fetched {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, w.REST+"/"+strings.TrimPrefix(path, "/"), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "gzip, deflate, br")
	want := http.StatusOK
	if tag != "" {
		request.Header.Set("If-None-Match", tag)
		want = http.StatusNotModified
	}
	if key != "" {
		request.Header.Set("x-api-key", key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	sent, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		w.t.Fatalf("%s: %v, %d %s", path, err, response.StatusCode, sent)
	}
	text := sent
	if response.Header.Get("Content-Encoding") == "gzip" {
		unpack, err := gzip.NewReader(bytes.NewReader(sent))
		if err != nil {
			w.t.Fatal(err)
		}
		if text, err = io.ReadAll(unpack); err != nil {
			w.t.Fatal(err)
		}
	}
	return fetched{string(text), response.Header.Get("ETag"), answerSize(w.t, response, sent)}
}
