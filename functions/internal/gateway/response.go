package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// MaxPayload is Lambda's limit for the event and for the answer of a synchronous
// invocation: 6 MB and a little (docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
const MaxPayload = 6_291_556

// Response is the answer of a function, checked.
type Response struct {
	Status int
	Header http.Header
	// Body is as the function wrote it, in base64 if Base64 says so.
	Body   string
	Base64 bool
}

// ParseResponse reads the answer of a function
// (AGW/set-up-lambda-proxy-integrations.html, output format). Members that the format does
// not have make it malformed, as recorded by localstack/localstack (integrations/aws.py).
func ParseResponse(raw []byte) (Response, error) {
	if len(raw) > MaxPayload {
		return Response{}, fmt.Errorf("%d bytes; Lambda returns at most %d", len(raw), MaxPayload)
	}
	var r struct {
		StatusCode        *statusCode         `json:"statusCode"`
		Headers           map[string]scalar   `json:"headers"`
		MultiValueHeaders map[string][]scalar `json:"multiValueHeaders"`
		Body              string              `json:"body"`
		IsBase64Encoded   bool                `json:"isBase64Encoded"`
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return Response{}, err
	}
	if decoder.More() {
		return Response{}, errors.New("something follows the JSON object")
	}
	if r.StatusCode == nil {
		return Response{}, errors.New("statusCode is missing")
	}
	if *r.StatusCode < 200 || *r.StatusCode > 599 {
		return Response{}, fmt.Errorf("statusCode %d is not between 200 and 599", *r.StatusCode)
	}
	response := Response{Status: int(*r.StatusCode), Header: http.Header{}, Body: r.Body, Base64: r.IsBase64Encoded}
	for name, value := range r.Headers {
		response.Header.Set(name, string(value))
	}
	for name, values := range r.MultiValueHeaders { // these win over the same name in headers
		response.Header.Del(name)
		for _, value := range values {
			response.Header.Add(name, string(value))
		}
	}
	return response, nil
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
