package mcpserver_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/aws/dynamo/dynamotest"
	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/sqlite"
	"sekisho/functions/internal/store"
	"sekisho/functions/internal/usage"
)

// trips counts what the function "mcp" asks of others.
type trips struct {
	database *dynamotest.Double
	mu       sync.Mutex
	made     []string
}

func (c *trips) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = append(c.made, what)
}

func (c *trips) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	c.add(operation)
	return c.database.RoundTrip(r)
}

// split keeps accounts in SQLite, and usage in the double of DynamoDB, which knows no accounts.
type split struct {
	*sqlite.DB
	usage   usage.Store
	counter *trips
}

func (s split) Usage() usage.Store      { return s.usage }
func (s split) Accounts() account.Store { return countedKeys{s.DB.Accounts(), s.counter} }

type countedKeys struct {
	account.Store
	counter *trips
}

func (k countedKeys) Key(ctx context.Context, id string) (account.Key, error) {
	k.counter.add("GetItem")
	return k.Store.Key(ctx, id)
}

// TestRoundTrips of mcp itself, built as in Lambda: a call that it dispatches costs one write and one
// invocation, a failure one transaction more, a denial from memory nothing; and the key is read once.
func TestRoundTrips(t *testing.T) {
	counter := &trips{database: dynamotest.New()}
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "accounts.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tables := split{db, dynamo.New(dynamotest.Client(counter), dynamo.Tables{Usage: "u"}).Usage(), counter}
	plans, err := account.ParsePlans(`{"free":{"monthly":2}}`)
	if err != nil {
		t.Fatal(err)
	}
	ring := account.Keyring{Store: tables.Accounts(), Plans: plans, Now: time.Now}
	if _, err := ring.CreateUser(t.Context(), "u", "free"); err != nil {
		t.Fatal(err)
	}
	secret, _, err := ring.CreateKey(t.Context(), "u", "")
	if err != nil {
		t.Fatal(err)
	}
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, name := range api.Functions() {
		names[name] = name
	}
	named, err := json.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	status := "200"
	build := mcpserver.FromEnv(func(boot.Env, ...string) (store.Store, error) { return tables, nil }, mcpserver.Platform{
		Functions: func(_ boot.Env, names map[string]string) (map[string]backend.Invoker, error) {
			invoker := invokerFunc(func(context.Context, []byte) ([]byte, error) {
				counter.add("Invoke")
				return []byte(`{"statusCode":` + status + `,"body":"{}"}`), nil
			})
			all := map[string]backend.Invoker{}
			for name := range maps.Keys(names) {
				all[name] = invoker
			}
			return all, nil
		},
		Braked: func(boot.Env) (func(context.Context) (bool, error), error) { return nil, nil },
	})
	function, err := build(boot.Runtime{Function: "mcp", Log: zap.NewNop(), Now: time.Now, Env: boot.Map(map[string]string{
		boot.Dispatch: boot.Direct, boot.Functions: string(named), boot.Plans: plans.String(),
	})})
	if err != nil {
		t.Fatal(err)
	}
	event, err := json.Marshal(events.APIGatewayProxyRequest{
		HTTPMethod: "POST", Resource: "/mcp", Path: "/mcp", Body: legacy("tools/call", lookup),
		Headers: map[string]string{"content-type": "application/json", "x-api-key": secret.Reveal()},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, status string
		want         []string
	}{
		{"first", "200", []string{"GetItem", "UpdateItem", "Invoke"}},
		{"failed", "404", []string{"UpdateItem", "Invoke", "TransactWriteItems"}},
		{"second", "200", []string{"UpdateItem", "Invoke"}},
		{"denied", "200", []string{"UpdateItem"}},
		{"denied from memory", "200", nil},
	} {
		counter.made, status = nil, c.status
		if _, err := function.Invoke(t.Context(), event); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(counter.made, c.want) {
			t.Errorf("%s: %v, want %v", c.name, counter.made, c.want)
		}
	}
}
