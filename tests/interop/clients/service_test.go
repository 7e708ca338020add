//go:build interop

package clients

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sekisho/tests/program"
)

// The plans of the service under test.
const (
	roomy = "roomy" // never used up
	tiny  = "tiny"  // one call
)

// service is one `sekisho up` over data of its own.
type service struct {
	dir string
	program.Ready
}

// up starts a service and ends it with the test, as Ctrl-C does.
func up(t *testing.T, flags ...string) *service {
	t.Helper()
	s := &service{dir: t.TempDir()}
	flags = append([]string{
		"--plan", roomy + "=unlimited", "--plan", tiny + "=1",
		"--dispatch", served.dispatch, "--door", served.door, "--door-listen", "127.0.0.1:0",
	}, flags...)
	if *oauth {
		flags = append(flags, "--oauth", "--oauth-listen", "127.0.0.1:0")
	}
	s.Ready = shared.binary.Up(t, nil, s.dir, flags...).Ready
	return s
}

// run runs a command of sekisho on the service's data.
func (s *service) run(t *testing.T, args ...string) []byte {
	t.Helper()
	return []byte(shared.binary.On(nil, "--data", s.dir)(t, args...))
}

// key makes a key of the plan's user, whom the start has made.
func (s *service) key(t *testing.T, plan string) string {
	t.Helper()
	key, _ := s.newKey(t, plan)
	return key
}

func (s *service) newKey(t *testing.T, plan string) (key, id string) {
	t.Helper()
	var made struct {
		Key string
		ID  string `json:"key_id"`
	}
	if err := json.Unmarshal(s.run(t, "keys", "create", "--user", plan, "--json"), &made); err != nil {
		t.Fatal(err)
	}
	return made.Key, made.ID
}

// toolSettings are what the REST API answers about a key's tools.
type toolSettings struct {
	Tools []struct {
		Name    string
		Enabled bool
	}
}

func (s *service) settings(t *testing.T, method, key, body string) toolSettings {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.APIURL+"/v1/user/tool-settings", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("x-api-key", key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s tool-settings: %v, status %d: %s", method, err, response.StatusCode, answer)
	}
	var settings toolSettings
	if err := json.Unmarshal(answer, &settings); err != nil {
		t.Fatal(err)
	}
	return settings
}

// switchOff switches exactly these tools off.
func (s *service) switchOff(t *testing.T, key string, tools ...string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"disabled_categories": []string{}, "disabled_tools": append([]string{}, tools...)})
	if err != nil {
		t.Fatal(err)
	}
	s.settings(t, http.MethodPut, key, string(body))
}

// tools are the names under which those that a key has on are listed, sorted.
func (s *service) tools(t *testing.T, key string) []string {
	t.Helper()
	var names []string
	for _, tool := range s.settings(t, http.MethodGet, key, "").Tools {
		if tool.Enabled {
			names = append(names, strings.ReplaceAll(tool.Name, ".", "_"))
		}
	}
	if len(names) == 0 {
		t.Fatal("the settings name no tool")
	}
	slices.Sort(names)
	return names
}

// endpointFor is the configuration that clients are given: the key as x-api-key.
func (s *service) endpointFor(key string) endpoint {
	at := endpoint{url: s.MCPURL, header: http.Header{}}
	if key != "" {
		at.header.Set("X-Api-Key", key)
	}
	return at
}

// bearer is the other header that a key may come in.
func (s *service) bearer(key string) endpoint {
	return endpoint{url: s.MCPURL, header: http.Header{"Authorization": {fmt.Sprintf("Bearer %s", key)}}}
}
