package relay

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/problem"
)

// passedHeaders are the backend's headers that a caller gets, besides Content-Type and
// Retry-After. Cookies, what is the connection's, and what speaks of limits are not among them:
// the caller's limits are Sekisho's.
var passedHeaders = []string{"Content-Language", "ETag", "Last-Modified", "Link", "Location", "X-Total-Count"}

// readable says whether an answer to a read is what it claims to be. If not, it is an error of
// the backend's, and tried once more: a page in HTML, say, where the contract has data.
func readable(op *contract.Operation, r outbound.Response) error {
	if r.Write || r.Status == http.StatusNoContent || r.Status == http.StatusResetContent || isBinary(r) {
		return nil
	}
	text, err := r.Text()
	if err != nil {
		return err
	}
	if json.Valid([]byte(text)) {
		return nil
	}
	if r.SaysJSON() {
		return errors.New("it says that it is JSON, and is not")
	}
	if mediaType(r) == "text/html" && op.Answer != contract.AnswerText {
		return errors.New("a page in HTML where data was expected")
	}
	return nil
}

// passOn makes the caller's answer of a 2xx: status, type and text as they came, in UTF-8 and
// without this server's credentials.
func passOn(op *contract.Operation, r outbound.Response) (rest.Answer, error) {
	text, err := r.Text()
	if isBinary(r) {
		err = errBinary
	}
	switch {
	case err == nil:
		return rest.Answer{Status: r.Status, Header: passed(r, text), Body: []byte(text)}, nil
	case errors.Is(err, outbound.ErrTooLarge):
		return rest.Answer{}, rest.TooLarge(op, "The backend's answer is larger than this server takes.")
	case r.Write:
		return accepted(r)
	}
	return rest.Answer{}, problem.Newf(problem.AnswerNotText, "The backend answered %d bytes of %s.", len(r.Body), orUnknown(mediaType(r)))
}

var errBinary = errors.New("the answer is not text")

// accepted is the answer to a write that the backend accepted, and whose own answer can't be
// read: the call succeeded, and nobody must repeat it.
func accepted(r outbound.Response) (rest.Answer, error) {
	said := map[string]any{"status": r.Status, "body_unreadable": true}
	if t := r.Public("Content-Type"); t != "" {
		said["content_type"] = t
	}
	if location := r.Public("Location"); location != "" {
		said["location"] = location
	}
	body, err := json.Marshal(said)
	header := passed(r, string(body))
	header["Content-Type"] = "application/json"
	return rest.Answer{Status: r.Status, Header: header, Body: body}, err
}

// passed are the headers of an answer with this text.
func passed(r outbound.Response, text string) map[string]string {
	headers := map[string]string{"Content-Type": contentType(r, text), "X-Content-Type-Options": "nosniff"}
	for _, name := range passedHeaders {
		if value := r.Public(name); value != "" {
			headers[name] = value
		}
	}
	if wait := r.RetryAfter(); wait > 0 {
		headers["Retry-After"] = strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10)
	}
	return headers
}

// contentType is the type that came, unless the text shows that it is wrong. The text is UTF-8
// by now, whatever it was.
func contentType(r outbound.Response, text string) string {
	valid := json.Valid([]byte(text))
	t := mediaType(r)
	switch {
	case t == "" && valid:
		return "application/json"
	case r.SaysJSON() && (valid || text == ""):
		return t
	case t == "" || r.SaysJSON():
		t = "text/plain"
	}
	return t + "; charset=utf-8"
}

func mediaType(r outbound.Response) string {
	t, _, err := mime.ParseMediaType(r.Public("Content-Type"))
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) || !strings.Contains(t, "/") {
		return "" // as good as none
	}
	return t
}

// isBinary goes by the type: any bytes can be read as text in some encoding.
func isBinary(r outbound.Response) bool {
	if len(r.Body) == 0 {
		return false
	}
	major, minor, _ := strings.Cut(mediaType(r), "/")
	switch major {
	case "image":
		return minor != "svg+xml"
	case "audio", "video", "font":
		return true
	case "application":
		if minor == "octet-stream" { // what servers say that don't know
			return !utf8.Valid(r.Body) || bytes.IndexByte(r.Body, 0) >= 0
		}
		return !r.SaysJSON() && !strings.HasSuffix(minor, "xml") && !textual[minor]
	}
	return false
}

// textual are the types below application/ that are text, besides JSON and XML.
var textual = map[string]bool{
	"javascript": true, "ecmascript": true, "yaml": true, "x-yaml": true, "toml": true, "graphql": true, "sql": true,
	"x-ndjson": true, "jsonl": true, "json-seq": true, "x-www-form-urlencoded": true, "rtf": true, "x-sh": true,
	"vnd.oai.openapi": true, "csv": true, "ld+yaml": true, "jose": true, "jwt": true, "x-pem-file": true, "sparql-query": true,
}

func orUnknown(mediaType string) string {
	if mediaType == "" {
		return "an unknown type"
	}
	return mediaType
}
