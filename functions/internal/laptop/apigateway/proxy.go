package apigateway

import (
	"encoding/json"
	"errors"
	"net/http"

	"go.uber.org/zap"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/laptop/lambda"
)

// answerProxy invokes the function of a call and makes an answer of what it returns. The
// error is a *refusal.
func (g *Gateway) answerProxy(c *call) (*answer, error) {
	payload, err := json.Marshal(g.proxyEvent(c))
	if err != nil {
		return nil, refuseIntegrationFailure()
	}
	if len(payload) > lambda.MaxPayload {
		return nil, refuseTooLarge()
	}
	began := g.now()
	raw, err := g.config.Functions.Invoke(c.route.function, payload, c.route.limit)
	c.integrationLatency = g.now().Sub(began)
	if err != nil {
		g.log.Error("function gave no answer", zap.String("function", c.route.function),
			zap.String("request_id", c.extendedID), zap.Error(err))
		return nil, integrationRefusal(err)
	}
	if len(raw) > lambda.MaxPayload {
		return nil, refuseBadFunction()
	}
	response, err := gateway.ParseProxyAnswer(raw)
	if err != nil {
		g.log.Error("malformed Lambda proxy response", zap.String("function", c.route.function),
			zap.String("request_id", c.extendedID), zap.Error(err))
		return nil, refuseBadFunction()
	}
	c.integrationStatus = response.Status
	a := g.newAnswer(c, response.Status)
	copyHeaders(response.Header, a.header)
	traceID, _ := c.lookUpHeader("X-Amzn-Trace-Id")
	a.header.Set("X-Amzn-Trace-Id", traceID)
	a.body = response.Body
	return a, nil
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
