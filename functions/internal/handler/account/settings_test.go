package account

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/handler/rest"
)

// oneKey is a store of one key's settings.
type oneKey struct {
	account.Store
	settings account.Settings
	puts     int
}

func (s *oneKey) Key(context.Context, string) (account.Key, error) {
	return account.Key{ID: "key_a", Settings: s.settings}, nil
}

func (s *oneKey) PutSettings(_ context.Context, _ string, to account.Settings, was *account.Settings) error {
	if was != nil && !was.Equal(s.settings) {
		return account.ErrChanged
	}
	s.puts++
	s.settings = to
	return nil
}

// FuzzPutSettings: whatever is put, under whatever condition, the settings are what the answer says,
// or they are as they were. A name that is in no list is refused, so that a typo leaves nothing on.
func FuzzPutSettings(f *testing.F) {
	before := account.Settings{DisabledCategories: []string{"postal"}, DisabledTools: []string{"convert.era"}}
	for _, body := range []string{`{"disabled_tools":["convert.era"]}`, `{"disabled_categories":["postal","postal"]}`, `{"disabled_tools":["convert.eras"]}`, `{}`, `[]`, `{"disabled_tools":null}`, `{"disabled_tools":[1]}`, `{"disabled_tools":[],"disabled_tools":["convert.era"]}`, ""} {
		for _, condition := range []string{"", "*", entityTag(before), `"0"`, `W/` + entityTag(before), `"0", ` + entityTag(before)} {
			f.Add(body, condition)
		}
	}
	api, err := contract.Default()
	if err != nil {
		f.Fatal(err)
	}
	categories := api.ToolCategories()
	f.Fuzz(func(t *testing.T, body, condition string) {
		store := &oneKey{settings: before}
		h := &Handler{API: api, Store: store, Now: time.Now}
		server, err := rest.New(api, "account", h.Operations(), zap.NewNop(), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		e := events.APIGatewayProxyRequest{HTTPMethod: "PUT", Resource: "/v1/user/tool-settings", Path: "/v1/user/tool-settings", Body: body, Headers: map[string]string{"Content-Type": "application/json"}}
		if condition != "" {
			e.Headers["If-Match"] = condition
		}
		e.RequestContext.Authorizer = gateway.AuthorizerContext{Admission: gateway.Admission{KeyID: "key_a", Operation: "account.put_tool_settings"}}.Values()
		answer, err := server.Handle(t.Context(), e)
		if err != nil || answer.StatusCode >= 500 {
			t.Fatalf("%q, If-Match %q: %d %s, %v", body, condition, answer.StatusCode, answer.Body, err)
		}
		if answer.StatusCode != 200 {
			if store.puts != 0 || !store.settings.Equal(before) {
				t.Errorf("%q, If-Match %q: refused with %d, and the settings are %+v", body, condition, answer.StatusCode, store.settings)
			}
			return
		}
		var said Settings
		if err := json.Unmarshal([]byte(answer.Body), &said); err != nil {
			t.Fatal(err)
		}
		now := account.Settings{DisabledCategories: said.DisabledCategories, DisabledTools: said.DisabledTools}
		if store.puts != 1 || !store.settings.Equal(now) || answer.Headers["ETag"] != entityTag(now) {
			t.Errorf("%q: stored %+v, answered %+v under %s", body, store.settings, now, answer.Headers["ETag"])
		}
		for _, tool := range said.Tools {
			if off := slices.Contains(now.DisabledTools, tool.Name) || slices.Contains(now.DisabledCategories, tool.Category); off == tool.Enabled {
				t.Errorf("%q: %s is enabled: %t", body, tool.Name, tool.Enabled)
			}
		}
		for _, name := range now.DisabledTools {
			if categories[name] == "" {
				t.Errorf("%q switches off the unknown %q", body, name)
			}
		}
		if condition != "" && strings.TrimSpace(condition) != "*" && !strings.Contains(condition, entityTag(before)) {
			t.Errorf("replaced, though If-Match was %q", condition)
		}
	})
}
