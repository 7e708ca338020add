package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/apigateway"
	"sekisho/functions/internal/openapi"
	"sekisho/functions/internal/trace/otlp"
)

type upCmd struct {
	storeFlags
	contractFlag
	apiFlags
	backendFlags
	doorFlags
	oauthFlags
	Listen   string        `help:"Address to listen on; port 0 takes any free one." default:"127.0.0.1:8787" placeholder:"HOST:PORT"`
	Plan     []string      `help:"A plan and what it allows each key: NAME=1000,daily=200,per_second=2,burst=10, each part optional, or NAME=unlimited; given once or more, these replace the default plans." placeholder:"NAME=MONTHLY,…" sep:"none"`
	Reserved []string      `help:"Reserved concurrency of a function; 0 switches it off." placeholder:"FUNCTION=N"`
	Timeout  []string      `help:"Timeout of a function, from 1ms to 15m." placeholder:"FUNCTION=DURATION"`
	Origins  []string      `name:"allow-origin" help:"A web origin whose pages may call /mcp, such as http://localhost:6274; may be given more than once." placeholder:"ORIGIN"`
	KeyCache time.Duration `help:"How long a key is trusted without a look at the store. AWS uses 30s; here a change is seen at once." default:"0s"`
	// ToolNames and Dispatch are pointers, so that --applied sees whether they were given.
	ToolNames *string `name:"tool-names" help:"How tools are named in lists: underscore (postal_lookup), which is the default, or canonical (postal.lookup); calls take both." enum:"underscore,canonical" placeholder:"FORM"`
	Dispatch  *string `help:"How MCP calls get to their functions: proxy (through the REST API), which is the default, or direct (mcp admits and invokes by itself)." enum:"proxy,direct" placeholder:"WAY"`
	listingFlags
	Applied string `help:"Serve what Terraform applied, over its tables in AWS: a file with the output of 'terraform output -json'." placeholder:"FILE"`
	JSON    bool   `name:"json" help:"Print one line of JSON when ready."`
}

func (c upCmd) Run(ctx context.Context, s streams) error {
	if c.Applied != "" {
		return c.runApplied(ctx, s)
	}
	plans, err := c.plans()
	if err != nil {
		return badUsage(err)
	}
	if err := c.checkOrigins(); err != nil {
		return badUsage(err)
	}
	if err := c.listingFlags.check(); err != nil {
		return badUsage(err)
	}
	env := map[string]string{
		boot.AllowedOrigins:  strings.Join(c.Origins, ","),
		boot.KeyCacheSeconds: strconv.FormatFloat(c.KeyCache.Seconds(), 'f', -1, 64),
	}
	if c.ToolNames != nil {
		env[boot.ToolNames] = *c.ToolNames
	}
	dispatch, err := c.oauthFlags.dispatch(c.Dispatch)
	if err != nil {
		return badUsage(err)
	}
	if err := errors.Join(c.doorFlags.check(dispatch), c.oauthFlags.check(c.doorFlags)); err != nil {
		return badUsage(err)
	}
	maps.Copy(env, c.doorFlags.environment())
	c.oauthFlags.set(env)
	c.listingFlags.set(env)
	doc, report, err := c.contract(ctx)
	if err != nil {
		return badUsage(err)
	}
	api, err := contract.Parse(doc)
	if err != nil {
		return err
	}
	dispatching, err := laptop.Dispatching(api, dispatch)
	if err != nil {
		return err
	}
	maps.Copy(env, dispatching)
	functions, err := c.functions(api, env)
	if err != nil {
		return badUsage(err)
	}
	behind, err := c.backends(api)
	if err != nil {
		return badUsage(err)
	}
	defer behind.close()
	if report != nil {
		if err := c.tell(s.err, report, behind); err != nil {
			return badUsage(err)
		}
	}
	listener, err := c.listen()
	if err != nil {
		return err
	}
	defer listener.Close()
	door, err := c.doorFlags.open(c.kind())
	if err != nil {
		return err
	}
	defer func() { door.close() }()
	if c.OAuth {
		if err := door.openOAuth(c.oauthFlags, laptop.OAuthDoor{External: c.OAuthIssuer != ""}); err != nil {
			return err
		}
	}
	described, err := keep(c.Data, doc)
	if err != nil {
		return err
	}
	if plans != "" {
		c.Plans = plans
	}
	st, err := c.openOrCreate(ctx)
	if err != nil {
		return err
	}
	defer st.close()
	created, err := firstKeys(ctx, st)
	if err != nil {
		return err
	}
	env[boot.Plans] = st.plans.String()
	if door.door != nil {
		env[boot.MCPURL] = door.url()
	}
	env[boot.UsagePercent] = usagePercent
	behind.environment(functions)
	served := laptop.Config{
		Gateway: apigateway.Config{Stage: laptopStage}, Functions: functions, Contract: described, Stores: st, Relay: behind.relay,
		Brake: &laptop.Brake{Memory: st.Brake(laptop.BrakeName(laptopStage)), ReleaseCommand: "sekisho brake off --data " + c.Data},
	}
	if c.Streaming {
		served.Gateway.Streaming = laptop.MCP
	}
	return c.serve(ctx, listener, door, served, func(at addresses) error {
		return c.announce(s.out, at, behind.addresses(), st, created)
	})
}

// contract is the merged contract that the flags name; with --api, the report says how it was made.
func (c upCmd) contract(ctx context.Context) ([]byte, *openapi.Report, error) {
	if err := c.apiFlags.check(c.Contract); err != nil {
		return nil, nil, err
	}
	if c.API != "" {
		return c.imported(ctx, c.BackendPrivate)
	}
	doc, err := mergedContract(c.Contract)
	return doc, nil, err
}

// checkOrigins refuses what no browser would send as Origin, and so would never match.
func (c upCmd) checkOrigins() error {
	for _, origin := range c.Origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+u.Host != strings.ToLower(origin) {
			return fmt.Errorf("--allow-origin %s: write scheme and host, and a port if it is not the scheme's own, such as http://localhost:6274", origin)
		}
	}
	return nil
}

// listen takes the address. It comes before keys are made, which are shown once and must
// not get lost.
func (c upCmd) listen() (net.Listener, error) {
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, badUsage(fmt.Errorf("listen on %s: %w; choose another address with --listen, port 0 for any free port", c.Listen, reason(err)))
	}
	return listener, nil
}

// plans returns the flags' plans as configuration; "" when none were given.
func (c upCmd) plans() (string, error) {
	if len(c.Plan) == 0 {
		return "", nil
	}
	plans, err := account.ParsePlanFlags(c.Plan)
	if err != nil {
		return "", err
	}
	return plans.String(), nil
}

// reason is the innermost cause: "address already in use".
func reason(err error) error {
	var sys *os.SyscallError
	if errors.As(err, &sys) {
		return sys.Err
	}
	return err
}

// collectLess lets garbage grow to three times the memory in use, which is some 10 MB, before it is
// collected; Go's default is once. Each collection takes CPU from the calls and stops them all for a
// moment. The limit keeps large bodies from multiplying memory the same way. The environment's own
// settings of the collector win.
func collectLess() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(300)
		debug.SetMemoryLimit(512 << 20)
	}
}

// serve serves until ctx ends, and calls announce with the addresses when it is ready.
func (c upCmd) serve(ctx context.Context, listener net.Listener, door doorway, served laptop.Config, announce func(addresses) error) error {
	collectLess()
	log, err := c.appendTo("log.jsonl")
	if err != nil {
		return err
	}
	defer log.Close()
	access, err := c.appendTo(accessFile)
	if err != nil {
		return err
	}
	defer access.Close()
	dispatched, err := c.appendTo(dispatchedFile)
	if err != nil {
		return err
	}
	defer dispatched.Close()
	served.Dispatched = dispatched
	served.Gateway.Domain, served.Gateway.AccessLog = listener.Addr().String(), laptop.AccessFile{File: access, Now: time.Now}
	base := "http://" + listener.Addr().String()
	if served.Gateway.StageInPath {
		base += "/" + served.Gateway.Stage
	}
	at := door.at(base)
	served.Door, served.OAuthDoor = door.door, door.oauth
	served.Log, served.Now, served.LocalToken = log, time.Now, rand.Text()
	endTracing, err := c.trace(log)
	if err != nil {
		return badUsage(err)
	}
	defer endTracing()
	service, err := laptop.New(served)
	if err != nil {
		return badUsage(err)
	}
	stop, err := c.prepare(ctx, service, listener, served.LocalToken)
	if err != nil {
		return errors.Join(err, service.Close(ctx))
	}
	defer stop()
	if err := announce(at); err != nil {
		return errors.Join(err, service.Close(ctx))
	}
	return service.Serve(ctx, laptop.Listeners{API: listener, Door: door.Listener, OAuth: door.oauthListener})
}

// trace sends spans of all functions to the collector that the environment names, if it does.
func (upCmd) trace(w io.Writer) (end func(), err error) {
	log, err := boot.NewLogger(boot.Map(nil), "trace", w)
	if err != nil {
		return nil, err
	}
	end, err = otlp.Start(os.Getenv, "sekisho", log)
	if end == nil {
		end = func() {}
	}
	return end, err
}

// replayTime is how long a start waits for the failed calls of an earlier one. What is left is
// settled while the service runs, or by the next start.
const replayTime = 30 * time.Second

// prepare does what comes before the first request, until stop. Commands can find the service
// before it reads the brake's state, so that what they want is never missed.
func (c upCmd) prepare(ctx context.Context, service *laptop.Service, listener net.Listener, token string) (stop func(), err error) {
	_, another, unknown := laptop.FindRunning(ctx, c.Data)
	stop, err = laptop.Running{Base: loopbackBase(listener), Token: token}.Publish(c.Data)
	if err != nil {
		return nil, badUsage(err)
	}
	if service.Brake != nil { // one that was on stays on
		if err := service.Brake.Restart(ctx); err != nil {
			stop()
			return nil, err
		}
	}
	replaying, cancel := context.WithTimeout(ctx, replayTime)
	defer cancel()
	err = service.Replay(replaying, filepath.Join(c.Data, accessFile), filepath.Join(c.Data, settledFile))
	if !another && unknown == nil { // the calls of another have no end yet
		err = errors.Join(err, service.Replay(replaying, filepath.Join(c.Data, dispatchedFile), filepath.Join(c.Data, settledDispatchedFile)))
	}
	if err != nil && replaying.Err() == nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// loopbackBase is where this machine reaches the listener.
func loopbackBase(listener net.Listener) string {
	at, ok := listener.Addr().(*net.TCPAddr)
	if ok && at.IP.IsUnspecified() {
		return "http://127.0.0.1:" + strconv.Itoa(at.Port)
	}
	return "http://" + listener.Addr().String()
}

const (
	// accessFile holds the gateway's record of every request, which `sekisho usage export` reads.
	accessFile = "access.jsonl"
	// dispatchedFile holds what mcp says of the calls that it dispatches itself.
	dispatchedFile = "dispatched.jsonl"
	// Files that say how far those are settled.
	settledFile, settledDispatchedFile = "settled.json", "settled-dispatched.json"
)

func (c upCmd) appendTo(name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(c.Data, name), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, badUsage(fmt.Errorf("log file: %w", err))
	}
	if err := endLine(f); err != nil {
		return nil, badUsage(errors.Join(fmt.Errorf("log file: %w", err), f.Close()))
	}
	return f, nil
}

// endLine ends a line that was cut short, so that the next one starts on its own.
func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err = f.WriteString("\n")
	return err
}

// functions are those of the contract, all with one environment, changed as the flags say.
func (c upCmd) functions(api *contract.API, env map[string]string) (map[string]laptop.Function, error) {
	functions := laptop.FunctionsOf(api, env)
	if c.OAuth {
		laptop.AddOAuth(functions, api, env)
	}
	err := change(functions, "reserved", c.Reserved, func(f *laptop.Function, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < -1 {
			return errors.New("write FUNCTION=N, with N 0 or more, or -1 for no reservation")
		}
		f.Reserved = n
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = change(functions, "timeout", c.Timeout, func(f *laptop.Function, value string) error {
		d, err := time.ParseDuration(value)
		if err != nil || d < time.Millisecond || d > contract.MaxTimeout {
			return errors.New("write FUNCTION=DURATION, such as mcp=2s, with a duration from 1ms to 15m")
		}
		f.Timeout = d
		return nil
	})
	if err != nil {
		return nil, err
	}
	return functions, nil
}

// usagePercent are the shares of a month whose crossing is announced, as Terraform has them by default.
const usagePercent = "80,100"

// change sets what flags of the form FUNCTION=VALUE say.
func change(functions map[string]laptop.Function, option string, flags []string, set func(f *laptop.Function, value string) error) error {
	for _, flag := range flags {
		name, value, _ := strings.Cut(flag, "=")
		f, ok := functions[name]
		if !ok {
			return fmt.Errorf("--%s %s: there is no function %q; there are: %s", option, flag, name, strings.Join(slices.Sorted(maps.Keys(functions)), ", "))
		}
		if err := set(&f, value); err != nil {
			return fmt.Errorf("--%s %s: %w", option, flag, err)
		}
		functions[name] = f
	}
	return nil
}

// firstKeys makes one user and key for every plan that has no user of its name yet.
func firstKeys(ctx context.Context, st *stores) (map[string]string, error) {
	ring := account.Keyring{Store: st.Accounts(), Plans: st.plans, Now: time.Now}
	created := map[string]string{}
	for _, plan := range st.plans.Names() {
		_, err := ring.CreateUser(ctx, plan, plan)
		if errors.Is(err, account.ErrExists) {
			continue
		}
		if err != nil {
			return nil, err
		}
		secret, _, err := ring.CreateKey(ctx, plan, "made by sekisho up")
		if err != nil {
			return nil, err
		}
		created[plan] = secret.Reveal()
	}
	return created, nil
}

func (c upCmd) announce(w io.Writer, at addresses, backends map[string]string, st *stores, created map[string]string) error {
	if c.JSON {
		return printJSON(w, map[string]any{"mcp_url": at.mcp, "oauth_url": at.oauth, "api_url": at.api, "backends": backends, "keys": created})
	}
	_, err := io.WriteString(w, announcement(at, backends, c.Data, st.plans, created))
	return err
}
