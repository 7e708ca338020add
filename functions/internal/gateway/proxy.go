package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// ProxyAnswer is what a function behind a Lambda proxy integration answers, checked.
type ProxyAnswer struct {
	Status int
	// Header has both forms; a name in multiValueHeaders wins over the same one in headers.
	Header http.Header
	// Body is as it came: Bytes decodes it.
	Body     string
	IsBase64 bool
}

// ParseProxyAnswer reads it as API Gateway does
// (docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html,
// output format). Members that the format does not have make it malformed, as recorded by
// localstack/localstack (integrations/aws.py). The error says what is wrong in words for the
// function's author, and quotes nothing but the names of members.
func ParseProxyAnswer(raw []byte) (*ProxyAnswer, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return nil, errors.New("the answer is not a JSON object with statusCode, headers and body")
	}
	a := &ProxyAnswer{Header: http.Header{}}
	var err error
	if a.Status, err = statusOf(members["statusCode"]); err != nil {
		return nil, err
	}
	var single map[string]scalar
	var multi map[string][]scalar
	for _, name := range slices.Sorted(maps.Keys(members)) {
		into, want := any(nil), ""
		switch name {
		case "statusCode":
			continue
		case "headers":
			into, want = &single, "an object of strings"
		case "multiValueHeaders":
			into, want = &multi, "an object of lists of strings"
		case "body":
			into, want = &a.Body, "a string"
		case "isBase64Encoded":
			into, want = &a.IsBase64, "a boolean"
		default:
			return nil, fmt.Errorf("member %q is not of the format, which has statusCode, headers, multiValueHeaders, body and isBase64Encoded", cut(name))
		}
		if json.Unmarshal(members[name], into) != nil {
			return nil, fmt.Errorf("%s is not %s", name, want)
		}
	}
	for name, value := range single {
		a.Header.Set(name, string(value))
	}
	for name, values := range multi {
		a.Header.Del(name)
		for _, value := range values {
			a.Header.Add(name, string(value))
		}
	}
	return a, nil
}

// Bytes is the body, decoded where it says that it is base64.
func (a *ProxyAnswer) Bytes() ([]byte, error) {
	if !a.IsBase64 {
		return []byte(a.Body), nil
	}
	body, err := base64.StdEncoding.DecodeString(a.Body)
	if err != nil {
		return nil, errors.New("isBase64Encoded is true, and body is not base64")
	}
	return body, nil
}

// statusOf takes a number, or a string with one.
func statusOf(raw json.RawMessage) (int, error) {
	if raw == nil {
		return 0, errors.New("statusCode is missing")
	}
	status, err := strconv.Atoi(string(bytes.Trim(raw, `"`)))
	if err != nil {
		return 0, errors.New("statusCode is not a whole number")
	}
	if status < 200 || status > 599 {
		return 0, fmt.Errorf("statusCode %d is not between 200 and 599", status)
	}
	return status, nil
}

// scalar is the value of a header; numbers and booleans are taken as their text.
type scalar string

func (s *scalar) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '"':
		return json.Unmarshal(data, (*string)(s))
	case '{', '[', 'n':
		return errors.New("the value of a header is not a string")
	}
	*s = scalar(data)
	return nil
}

// cut keeps a name that nobody bounded from filling an answer.
func cut(name string) string { return name[:min(len(name), 40)] }
