package apigateway

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
)

// compress packs an answer of an integration for a client that says that it takes gzip, if the
// description has a minimum size and the answer reaches it
// (AGW/api-gateway-receive-response-with-compressed-payload.html).
func (g *Gateway) compress(c *call, a *answer) {
	if g.minCompressed == nil || len(a.body) < *g.minCompressed || a.refusal != nil || a.header.Get("Content-Encoding") != "" ||
		!takesGzip(c.headers) {
		return
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(a.body)) // into memory
	_ = w.Close()
	a.body = packed.String()
	a.header.Set("Content-Encoding", "gzip")
}

// takesGzip: without the header nothing is packed, nor for "*".
func takesGzip(h http.Header) bool {
	for part := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, parameter, _ := strings.Cut(part, ";")
		weight, weighted := strings.CutPrefix(strings.TrimSpace(parameter), "q=")
		q, err := strconv.ParseFloat(weight, 64)
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") && (!weighted || err == nil && q > 0) {
			return true
		}
	}
	return false
}
