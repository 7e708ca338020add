package apigateway

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"go.uber.org/zap"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/laptop/front"
	"sekisho/functions/internal/laptop/lambda"
)

// answerProxy invokes the function of a call and makes an answer of what it returns. The
// error is a *refusal.
func (g *Gateway) answerProxy(c *call) (*answer, error) {
	raw, err := invoke(g, c, g.config.Functions.Invoke)
	if err != nil {
		return nil, err
	}
	if len(raw) > lambda.MaxPayload {
		return nil, refuseBadFunction()
	}
	response, err := gateway.ParseProxyAnswer(raw)
	if err != nil {
		return nil, g.malformed(c, err)
	}
	a := g.integrationAnswer(c, response.Status, response.Header)
	a.body = response.Body
	return a, nil
}

// answerStream is answerProxy where the answer goes out while the function makes it.
func (g *Gateway) answerStream(c *call) (*answer, error) {
	stream, err := invoke(g, c, g.config.Functions.InvokeStream)
	if err != nil {
		return nil, err
	}
	from := bufio.NewReader(stream)
	metadata, err := front.ReadMetadata(from)
	if err != nil {
		_ = stream.Close()
		return nil, g.malformed(c, err)
	}
	a := g.integrationAnswer(c, metadata.Status, metadata.Header)
	a.stream = struct {
		io.Reader
		io.Closer
	}{from, stream}
	return a, nil
}

// invoke runs the function of a call in one of the two ways. The error is a *refusal.
func invoke[Answer any](g *Gateway, c *call, how func(string, []byte, time.Duration) (Answer, error)) (answer Answer, err error) {
	payload, err := json.Marshal(g.proxyEvent(c))
	if err != nil {
		return answer, refuseIntegrationFailure()
	}
	if len(payload) > lambda.MaxPayload {
		return answer, refuseTooLarge()
	}
	began := g.now()
	answer, err = how(c.route.function, payload, c.route.limit)
	c.integrationLatency = g.now().Sub(began)
	if err != nil {
		g.log.Error("function gave no answer", zap.String("function", c.route.function),
			zap.String("request_id", c.extendedID), zap.Error(err))
		return answer, integrationRefusal(err)
	}
	return answer, nil
}

func (g *Gateway) malformed(c *call, err error) *refusal {
	g.log.Error("malformed Lambda proxy response", zap.String("function", c.route.function),
		zap.String("request_id", c.extendedID), zap.Error(err))
	return refuseBadFunction()
}

func (g *Gateway) integrationAnswer(c *call, status int, header http.Header) *answer {
	c.integrationStatus = status
	a := g.newAnswer(c, status)
	copyHeaders(header, a.header)
	traceID, _ := c.lookUpHeader("X-Amzn-Trace-Id")
	a.header.Set("X-Amzn-Trace-Id", traceID)
	return a
}

func integrationRefusal(err error) *refusal {
	switch {
	case errors.Is(err, lambda.ErrThrottled):
		return refuseIntegrationFailure()
	case errors.Is(err, lambda.ErrNotWaited):
		return refuseIntegrationTimeout()
	default:
		return refuseBadFunction()
	}
}

// copyHeaders renames and drops what API Gateway does.
func copyHeaders(from, to http.Header) {
	to.Set("Content-Type", "application/json")
	for name, values := range from {
		if isDroppedFromResponse(name) {
			continue
		}
		if isRemapped(name) {
			name = http.CanonicalHeaderKey("x-amzn-Remapped-" + name)
		}
		to[name] = values
	}
}
