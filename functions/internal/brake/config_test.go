package brake

import (
	"slices"
	"testing"

	"sekisho/functions/internal/contract"
)

// TestMethods: every method of a stopped function, each verb of ANY for itself, and what the
// gateway answers where the contract says so; but never usage, settings and health.
func TestMethods(t *testing.T) {
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	got := Config{Functions: []string{"my-mcp-stack-mcp", "my-mcp-stack-postal", "my-mcp-stack-gone"}}.Methods(api)
	want := []string{
		"DELETE /mcp", "GET /mcp", "HEAD /mcp", "OPTIONS /mcp", "PATCH /mcp", "POST /mcp", "PUT /mcp",
		"POST /register", "GET /v1/postal", "GET /v1/postal/{postal_code}",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUndeployed(t *testing.T) {
	api, err := contract.Parse([]byte(`{"paths":{
		"/a":{"get":{"operationId":"a","x-sekisho":{"function":"search"}}},
		"/b":{"get":{"operationId":"b","x-sekisho":{"function":"postal-search"}}}},
		"x-sekisho-oauth-routes":{"ANY /token":{"function":"oauth"}},
		"x-sekisho-functions":{"default":{"memory_mb":256,"timeout_seconds":5,"braked":true},"oauth":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for deployed, want := range map[string]string{
		"search": "search", "demo-search": "search", "demo-postal-search": "postal-search", "postal-search": "postal-search", "demo-research": "", "": "", "demo-oauth": "oauth",
	} {
		if got := Undeployed(api, deployed); got != want {
			t.Errorf("%q is %q, want %q", deployed, got, want)
		}
	}
}
