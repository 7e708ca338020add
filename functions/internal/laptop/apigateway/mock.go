package apigateway

import (
	"encoding/json"
	"maps"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sekisho/functions/internal/contract"
)

// mock is an integration without a function (AGW/how-to-mock-integration.html): its request
// template names a status, and that picks the response.
type mock struct {
	requestTemplates map[string]string
	responses        []mockResponse
	// strict: a content type without a template is a 415. So it is with passthroughBehavior
	// never, and with when_no_templates once there is any template.
	strict bool
}

type mockResponse struct {
	// pattern is matched with the whole of the status; nil is the default.
	pattern   *regexp.Regexp
	status    int
	templates map[string]string
}

func newMock(i *contract.MockIntegration, passthrough string) *mock {
	passthrough = strings.ToLower(passthrough)
	m := &mock{strict: passthrough == "never" || passthrough == "when_no_templates"}
	if i == nil {
		return m
	}
	m.requestTemplates = i.RequestTemplates
	for _, key := range slices.Sorted(maps.Keys(i.Responses)) {
		response := i.Responses[key]
		status, err := strconv.Atoi(response.StatusCode)
		if err != nil {
			status = http.StatusOK
		}
		r := mockResponse{status: status, templates: response.ResponseTemplates}
		if key != "default" {
			if r.pattern, err = regexp.Compile(`^(?:` + key + `)$`); err != nil {
				continue // a pattern that can't match anything
			}
		}
		m.responses = append(m.responses, r)
	}
	return m
}

// answerMock answers a call whose route has a mock integration.
func (g *Gateway) answerMock(c *call) *answer {
	v := &variables{gateway: g, call: c}
	status, r := c.route.mock.requestStatus(c, v)
	if r != nil {
		return g.refuse(c, r)
	}
	response := c.route.mock.pick(status)
	if response == nil {
		return g.refuse(c, &refusal{kind: "API_CONFIGURATION_ERROR", status: http.StatusInternalServerError, message: "Internal server error"})
	}
	c.integrationStatus = status
	a := g.newAnswer(c, response.status)
	accept, _ := c.lookUpHeader("Accept")
	contentType, template := pickTemplate(response.templates, accept)
	if contentType == "" {
		contentType = "application/json"
	}
	a.header.Set("Content-Type", contentType)
	a.body = substitute(template, v.lookUp)
	return a
}

// requestStatus renders the request template for the call's content type; without one it is
// application/json's.
func (m *mock) requestStatus(c *call, v *variables) (int, *refusal) {
	contentType := "application/json"
	if sent, ok := c.lookUpHeader("Content-Type"); ok {
		if parsed, _, err := mime.ParseMediaType(sent); err == nil {
			contentType = parsed
		}
	}
	template, ok := m.requestTemplates[contentType]
	if !ok && m.strict && len(m.requestTemplates) > 0 {
		return 0, &refusal{kind: "UNSUPPORTED_MEDIA_TYPE", status: http.StatusUnsupportedMediaType, message: "Unsupported Media Type"}
	}
	var wanted struct {
		StatusCode int `json:"statusCode"`
	}
	if err := json.Unmarshal([]byte(substitute(template, v.lookUp)), &wanted); err != nil || wanted.StatusCode == 0 {
		return 0, &refusal{kind: "DEFAULT_5XX", status: http.StatusInternalServerError, message: "Internal server error"}
	}
	return wanted.StatusCode, nil
}

// pick finds the response for a status: the one whose pattern matches, else the default.
func (m *mock) pick(status int) *mockResponse {
	var fallback *mockResponse
	for i := range m.responses {
		r := &m.responses[i]
		if r.pattern == nil {
			fallback = r
		} else if r.pattern.MatchString(strconv.Itoa(status)) {
			return r
		}
	}
	return fallback
}
