package front

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Metadata is what a streamed answer begins with.
type Metadata struct {
	Status int
	Header http.Header
}

// maxMetadata bounds status and headers, in bytes: more than any client takes of headers.
const maxMetadata = 64 << 10

// delimiter separates status and headers from the body.
var delimiter = make([]byte, 8)

// ReadMetadata reads status and headers off a stream, which then holds the body. The format is
// that of docs.aws.amazon.com/apigateway/latest/developerguide/response-transfer-mode-lambda.html;
// a function URL takes the same.
func ReadMetadata(from *bufio.Reader) (m Metadata, err error) {
	var raw []byte
	for !bytes.HasSuffix(raw, delimiter) {
		b, err := from.ReadByte()
		if err == io.EOF || err == nil && len(raw) == maxMetadata {
			return m, errors.New("the stream does not begin with status, headers and 8 NUL bytes")
		}
		if err != nil {
			return m, err
		}
		raw = append(raw, b)
	}
	var read struct {
		StatusCode        int                 `json:"statusCode"`
		Headers           map[string]string   `json:"headers"`
		MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
		Cookies           []string            `json:"cookies"`
	}
	if err := json.Unmarshal(bytes.TrimSuffix(raw, delimiter), &read); err != nil {
		return m, fmt.Errorf("status and headers: %w", err)
	}
	if read.StatusCode < 200 || read.StatusCode > 599 {
		return m, fmt.Errorf("statusCode %d is not between 200 and 599", read.StatusCode)
	}
	m = Metadata{Status: read.StatusCode, Header: http.Header{}}
	for name, value := range read.Headers {
		m.Header.Set(name, value)
	}
	for name, values := range read.MultiValueHeaders {
		m.Header[http.CanonicalHeaderKey(name)] = values
	}
	for _, cookie := range read.Cookies {
		m.Header.Add("Set-Cookie", cookie)
	}
	return m, nil
}

// PassOn writes the body of a stream, each part as soon as it is there, and at most so many bytes.
// One that fails, or is longer, is cut off: the client sees that something is missing. n is how
// many bytes went out.
func PassOn(w http.ResponseWriter, from io.Reader, most int64) (n int64, err error) {
	flush := http.NewResponseController(w)
	_ = flush.Flush() // the headers; a client that has gone is no fault of ours
	part := make([]byte, 32<<10)
	for {
		got, err := from.Read(part)
		if n+int64(got) > most {
			return n, fmt.Errorf("the stream has more than %d bytes", most)
		}
		if got > 0 {
			if _, err := w.Write(part[:got]); err != nil {
				return n, nil
			}
			_ = flush.Flush()
			n += int64(got)
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
