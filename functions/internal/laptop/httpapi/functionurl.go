package httpapi

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/laptop/front"
	"sekisho/functions/internal/laptop/lambda"
)

// functionURL has neither routes nor throttles: reserved concurrency is what bounds it.
type functionURL struct{}

// maxStream is the longest answer, in bytes
// (docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
const maxStream = 200 << 20

func (functionURL) admit(*http.Request, time.Time) (string, error) { return "$default", nil }

func (functionURL) behind(string) string { return "" }

func (functionURL) variables() map[string]string { return nil }

func (functionURL) mostBody() int64 { return lambda.MaxPayload }

func (functionURL) sign(h http.Header, id string) { h.Set("X-Amzn-Requestid", id) }

// serve passes on what the function streams. A stream that fails is cut off: its status is out.
func (functionURL) serve(d *Door, w http.ResponseWriter, function string, payload []byte) error {
	stream, err := d.config.Functions.InvokeStream(function, payload, 0)
	if err != nil {
		return err
	}
	defer stream.Close()
	from := bufio.NewReader(stream)
	metadata, err := front.ReadMetadata(from)
	if err != nil {
		return malformed{err}
	}
	write(w, metadata.Status, metadata.Header)
	if _, err := front.PassOn(w, from, maxStream); err != nil {
		d.config.Log.Error("stream cut off", zap.Error(err))
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (functionURL) refuse(w http.ResponseWriter, err error) {
	status, kind, body := http.StatusBadGateway, "InternalServerErrorException", "Internal Server Error"
	switch {
	case errors.Is(err, lambda.ErrThrottled), errors.Is(err, errThrottled):
		status, kind, body = http.StatusTooManyRequests, "TooManyRequestsException", `{"Message":"Rate Exceeded."}`
	case errors.Is(err, errTooLarge):
		status, kind, body = http.StatusRequestEntityTooLarge, "RequestEntityTooLargeException", `{"Message":"Request must be smaller than 6291456 bytes for the InvokeFunction operation"}`
	case errors.Is(err, errHeaders):
		status, kind, body = http.StatusRequestHeaderFieldsTooLarge, "", ""
	}
	w.Header().Set("X-Amzn-Errortype", kind)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
