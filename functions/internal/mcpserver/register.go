package mcpserver

import (
	"io"
	"net/http"
	"strconv"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/problem"
)

// Registration is the contract's operation that tells OAuth clients how to give a key. A REST API
// answers it by itself; an HTTP API and a function URL can't, and send it here.
const Registration = "system.register"

// isRegistration says that a request is for it.
func (s *server) isRegistration(r *http.Request) bool {
	op := s.API.Operation(Registration)
	return op != nil && op.Integration != nil && r.Method == op.Method && r.URL.Path == op.Path
}

// register answers as the REST API does.
func register(a answer, x *exchange, mock *contract.MockIntegration) *refusal {
	response := mock.Responses["default"]
	status, err := strconv.Atoi(response.StatusCode)
	if err != nil {
		return refuse(nil, problem.New(problem.Internal, ""))
	}
	x.method = "register"
	x.setOutcome(string(problem.Unauthorized))
	a.Header().Set("Content-Type", "application/json")
	a.WriteHeader(status)
	_, _ = io.WriteString(a, response.ResponseTemplates["application/json"]) // it is kept in memory
	return nil
}
