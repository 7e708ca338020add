// Package laptoptest serves the whole product over an emulated DynamoDB, and counts what it asks of it.
package laptoptest

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/aws/dynamo/dynamotest"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/apigateway"
	"sekisho/functions/internal/laptop/lambda"
	"sekisho/tests/awsfake/tables"
)

// Config is what to serve.
type Config struct {
	// Endpoint is the emulator's; Name is for tables that the service has alone.
	Endpoint, Name string
	Plans          account.Plans
	// Door, laptop.DoorHTTP or DoorURL, is what /mcp is reached by, with mcp dispatching calls itself;
	// "" has it on the REST API. OAuthClients, if not "", opens the OAuth door beside it.
	Door, OAuthClients string
	// AccessLog and Log get the lines of the gateway and of the functions.
	AccessLog, Log io.Writer
	// Wrap is put around each function.
	Wrap func(name string, function lambda.Invoker) lambda.Invoker
}

// Service is a running one. Its clock stands still at the start of a November unless a test moves it, so
// that what an instance remembers doesn't depend on how fast this machine is.
type Service struct {
	*laptop.Service
	// REST is the address of the REST API, and Door that below which /mcp is: at the OAuth door, if it is open.
	REST, Door string
	// Wire counts what the service asks of DynamoDB; Store and Ring bypass it.
	Wire  *dynamotest.Wire
	Store *dynamo.Store
	Ring  account.Keyring
	// AtDoor counts the requests to an HTTP API.
	AtDoor atomic.Int64

	clock atomic.Int64
}

// Now is what its clock shows.
func (s *Service) Now() time.Time { return time.UnixMilli(s.clock.Load()).UTC() }

// Pass moves its clock on.
func (s *Service) Pass(d time.Duration) { s.clock.Add(d.Milliseconds()) }

// Start serves until the test ends.
func Start(t testing.TB, c Config) *Service {
	t.Helper()
	s := &Service{}
	s.clock.Store(time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC).UnixMilli())
	s.Wire = &dynamotest.Wire{Beside: tables.Client(c.Endpoint, http.DefaultTransport)}
	accounts, usage, err := tables.Fresh(t.Context(), s.Wire.Beside, c.Name)
	if err != nil {
		t.Fatal(err)
	}
	names := dynamo.Tables{Accounts: accounts, Usage: usage}
	s.Store = dynamo.New(s.Wire.Beside, names)
	s.Ring = account.Keyring{Store: s.Store.Accounts(), Plans: c.Plans, Now: s.Now}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.REST = "http://" + listener.Addr().String()
	s.Door = s.REST
	config := laptop.Config{
		Gateway: apigateway.Config{Domain: listener.Addr().String(), Stage: "live", AccessLog: c.AccessLog},
		Stores:  dynamo.New(tables.Client(c.Endpoint, s.Wire), names), Log: c.Log, Now: s.Now, Wrap: c.Wrap,
	}
	s.openDoors(t, c, &config)
	if s.Service, err = laptop.New(config); err != nil {
		t.Fatal(err)
	}
	server := s.Server()
	go server.Serve(listener)
	t.Cleanup(func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

// openDoors adds the functions, and what they are reached by.
func (s *Service) openDoors(t testing.TB, c Config, config *laptop.Config) {
	t.Helper()
	env := map[string]string{boot.Plans: c.Plans.String()}
	config.Functions = laptop.Defaults(env)
	if c.Door == "" {
		return
	}
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	dispatching, err := laptop.Dispatching(api, boot.Direct)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(env, dispatching)
	if c.Door == laptop.DoorURL {
		env[boot.Streaming] = "true"
	}
	config.Functions = laptop.Defaults(env)
	config.Door = &laptop.Door{Kind: c.Door, Domain: s.listen(t, c.Door, func() http.Handler { return s.Service.Door() }), RESTAddress: s.REST}
	if c.OAuthClients != "" {
		config.OAuthDoor = &laptop.OAuthDoor{Domain: s.listen(t, laptop.DoorHTTP, func() http.Handler { return s.OAuth() })}
		laptop.AddOAuth(config.Functions, api, map[string]string{boot.OAuthClients: c.OAuthClients})
	}
}

// listen serves a door, which isn't there before the service, and returns its domain.
func (s *Service) listen(t testing.TB, kind string, door func() http.Handler) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if kind == laptop.DoorHTTP {
			s.AtDoor.Add(1)
		}
		door().ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.Door = server.URL
	return server.Listener.Addr().String()
}

// NewKey makes a key of a new user on a plan.
func (s *Service) NewKey(t testing.TB, user, plan string) (secret string, key account.Key) {
	t.Helper()
	if _, err := s.Ring.CreateUser(t.Context(), user, plan); err != nil {
		t.Fatal(err)
	}
	made, key, err := s.Ring.CreateKey(t.Context(), user, "")
	if err != nil {
		t.Fatal(err)
	}
	return made.Reveal(), key
}
