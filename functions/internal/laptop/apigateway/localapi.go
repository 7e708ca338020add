package apigateway

import (
	"encoding/json"
	"net/http"
)

// localPrefix begins the paths that only the laptop has. They come before the routes.
const localPrefix = "/_local/"

// serveLocal shows what CloudWatch and API Gateway would: GET /_local/invocations,
// /_local/functions, /_local/stage and /_local/description; and serves topics.
func (g *Gateway) serveLocal(w http.ResponseWriter, r *http.Request) {
	if topic, ok := topicOf(r.URL.Path); ok {
		g.serveTopic(w, r, topic)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeJSON(w, http.StatusMethodNotAllowed, map[string]string{"message": "Only GET is served here."})
		return
	}
	switch r.URL.Path {
	case localPrefix + "invocations":
		invocations := make(map[string]int, len(g.functions))
		for name, f := range g.functions {
			invocations[name] = f.snapshot().Invocations
		}
		writeJSON(w, http.StatusOK, invocations)
	case localPrefix + "functions":
		functions := make(map[string]counts, len(g.functions))
		for name, f := range g.functions {
			functions[name] = f.snapshot()
		}
		writeJSON(w, http.StatusOK, functions)
	case localPrefix + "stage":
		writeJSON(w, http.StatusOK, map[string]any{"name": g.config.Stage, "variables": g.StageVariables()})
	case localPrefix + "description":
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(g.description)
	default:
		writeJSON(w, http.StatusNotFound, map[string]string{
			"message": "Nothing here. There are /_local/invocations, /_local/functions, /_local/stage, /_local/description and /_local/topics/NAME.",
		})
	}
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // maps of strings and numbers always encode
}
