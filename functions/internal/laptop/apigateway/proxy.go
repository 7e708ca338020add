package apigateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"go.uber.org/zap"

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
	response, err := parseProxyResponse(raw)
	if err != nil {
		g.log.Error("malformed Lambda proxy response", zap.String("function", c.route.function),
			zap.String("request_id", c.extendedID), zap.Error(err))
		return nil, refuseBadFunction()
	}
	c.integrationStatus = response.status
	a := g.newAnswer(c, response.status)
	response.copyHeaders(a.header)
	traceID, _ := c.lookUpHeader("X-Amzn-Trace-Id")
	a.header.Set("X-Amzn-Trace-Id", traceID)
	a.body = response.body
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

// proxyResponse is the answer of a function, checked.
type proxyResponse struct {
	status  int
	headers map[string]scalar
	multi   map[string][]scalar
	body    string
}

// parseProxyResponse reads the answer of a function
// (AGW/set-up-lambda-proxy-integrations.html, output format). Members that the format does
// not have make it malformed, as recorded by localstack/localstack (integrations/aws.py).
func parseProxyResponse(raw []byte) (*proxyResponse, error) {
	if len(raw) > lambda.MaxPayload {
		return nil, fmt.Errorf("%d bytes; Lambda returns at most %d", len(raw), lambda.MaxPayload)
	}
	var r struct {
		StatusCode        *statusCode         `json:"statusCode"`
		Headers           map[string]scalar   `json:"headers"`
		MultiValueHeaders map[string][]scalar `json:"multiValueHeaders"`
		Body              *string             `json:"body"`
		IsBase64Encoded   *bool               `json:"isBase64Encoded"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, errors.New("something follows the JSON object")
	}
	if r.StatusCode == nil {
		return nil, errors.New("statusCode is missing")
	}
	if *r.StatusCode < 200 || *r.StatusCode > 599 {
		return nil, fmt.Errorf("statusCode %d is not between 200 and 599", *r.StatusCode)
	}
	response := &proxyResponse{status: int(*r.StatusCode), headers: r.Headers, multi: r.MultiValueHeaders}
	if r.Body != nil {
		response.body = *r.Body
	}
	return response, nil
}

// copyHeaders renames and drops what API Gateway does. A name in multiValueHeaders wins
// over the same one in headers.
func (r *proxyResponse) copyHeaders(h http.Header) {
	h.Set("Content-Type", "application/json")
	for name, value := range r.headers {
		setHeader(h, name, []scalar{value})
	}
	for name, values := range r.multi {
		setHeader(h, name, values)
	}
}

func setHeader(h http.Header, name string, values []scalar) {
	name = http.CanonicalHeaderKey(name)
	if isDroppedFromResponse(name) {
		return
	}
	if isRemapped(name) {
		name = http.CanonicalHeaderKey("x-amzn-Remapped-" + name)
	}
	h.Del(name)
	for _, value := range values {
		h.Add(name, string(value))
	}
}

// scalar is the value of a header; numbers and booleans are taken as their text.
type scalar string

func (s *scalar) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*s = scalar(text)
		return nil
	}
	if strings.HasPrefix(string(data), "{") || strings.HasPrefix(string(data), "[") || string(data) == "null" {
		return errors.New("the value of a header is not a string")
	}
	*s = scalar(data)
	return nil
}

// statusCode is a number, or a string with one.
type statusCode int

func (s *statusCode) UnmarshalJSON(data []byte) error {
	n, err := strconv.Atoi(strings.Trim(string(data), `"`))
	if err != nil {
		return errors.New("statusCode is not a whole number")
	}
	*s = statusCode(n)
	return nil
}
