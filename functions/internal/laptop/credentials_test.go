package laptop_test

import (
	"net/http"
	"strings"
	"testing"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/usage"
)

// TestOneRuleForCredentials: what is a credential at one entrance is one at the other.
func TestOneRuleForCredentials(t *testing.T) {
	s := start(t, account.Plans{"demo": usage.PerMonth(1000)}, nil)
	mine, _ := s.newKey("demo")
	another, _ := s.newKey("demo")
	key, second := mine.Reveal(), another.Reveal()
	for _, c := range []struct {
		name   string
		header http.Header
		ok     bool
	}{
		{"none", http.Header{}, false},
		{"x-api-key", http.Header{"X-Api-Key": {key}}, true},
		{"x-api-key with a scheme", http.Header{"X-Api-Key": {"Bearer " + key}}, true},
		{"x-api-key with another scheme", http.Header{"X-Api-Key": {"Basic " + key}}, false},
		{"bearer", http.Header{"Authorization": {"Bearer " + key}}, true},
		{"bearer in lower case", http.Header{"Authorization": {"bearer  " + key}}, true},
		{"no scheme", http.Header{"Authorization": {key}}, false},
		{"basic", http.Header{"Authorization": {"Basic " + key}}, false},
		{"basic beside a key", http.Header{"Authorization": {"Basic x"}, "X-Api-Key": {key}}, true},
		{"remapped", http.Header{"X-Amzn-Remapped-Authorization": {"Bearer " + key}}, true},
		{"remapped without a scheme", http.Header{"X-Amzn-Remapped-Authorization": {key}}, false},
		{"all the same", http.Header{"X-Api-Key": {key}, "Authorization": {"Bearer " + key}, "X-Amzn-Remapped-Authorization": {"Bearer " + key}}, true},
		{"two keys", http.Header{"X-Api-Key": {key}, "Authorization": {"Bearer " + second}}, false},
		{"two keys, one remapped", http.Header{"X-Api-Key": {key}, "X-Amzn-Remapped-Authorization": {"Bearer " + second}}, false},
		{"two keys in one header", http.Header{"X-Api-Key": {key, second}}, false},
		{"one key twice", http.Header{"X-Api-Key": {key, key}}, true},
		{"empty beside a key", http.Header{"X-Api-Key": {""}, "Authorization": {"Bearer " + key}}, true},
		{"in a cookie", http.Header{"Cookie": {"x-api-key=" + key}}, false},
		{"another header", http.Header{"X-Auth-Token": {key}, "Api-Key": {key}}, false},
	} {
		for entrance, request := range map[string][3]string{
			"REST": {"GET", "/v1/user/usage", ""},
			"MCP":  {"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		} {
			r, err := http.NewRequestWithContext(t.Context(), request[0], s.base+request[1], strings.NewReader(request[2]))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = c.header.Clone()
			r.Header.Set("Content-Type", "application/json")
			response, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if want := map[bool]int{true: http.StatusOK, false: http.StatusUnauthorized}[c.ok]; response.StatusCode != want {
				t.Errorf("%s by %s: %d, want %d", c.name, entrance, response.StatusCode, want)
			}
		}
	}
}
