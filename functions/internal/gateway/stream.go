package gateway

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
)

// Streaming is a Function that a function URL or a REST API invokes for a stream: whatever the
// answer, it begins with status and headers as JSON and eight NUL bytes
// (https://docs.aws.amazon.com/lambda/latest/dg/config-rs-write-functions.html).
type Streaming struct{ *Function }

// Stream serves one event and returns the answer when its first part, or all of it, is there.
// The reader also says the content type by which Lambda tells such an answer from others. The
// handler is held up while nobody reads, and goes on without an audience after Close or once
// ctx has ended.
func (s Streaming) Stream(ctx context.Context, payload []byte) (*events.LambdaFunctionURLStreamingResponse, error) {
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, err
	}
	body, write := io.Pipe()
	started := make(chan *events.LambdaFunctionURLStreamingResponse, 1)
	a := NewAnswer()
	a.begin = func(status int, header http.Header) io.Writer {
		context.AfterFunc(ctx, func() { _ = write.CloseWithError(ctx.Err()) })
		started <- streamed(status, header, body)
		return write
	}
	go func() {
		s.serve(ctx, &e, a)
		if !a.Started() {
			whole := io.NopCloser(a.wholeBody(e.method()))
			started <- streamed(a.Status(), a.Header(), whole)
		}
		_ = write.Close() // never fails
	}()
	return <-started, nil
}

func streamed(status int, header http.Header, body io.ReadCloser) *events.LambdaFunctionURLStreamingResponse {
	headers, cookies := joined(header)
	return &events.LambdaFunctionURLStreamingResponse{StatusCode: status, Headers: headers, Cookies: cookies, Body: body}
}
