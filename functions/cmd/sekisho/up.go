package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/laptop"
)

type upCmd struct {
	storeFlags
	upstreamFlags
	Listen   string        `help:"Address to listen on; port 0 takes any free one." default:"127.0.0.1:8787" placeholder:"HOST:PORT"`
	Plan     []string      `help:"A plan and its monthly limit per key (or unlimited); given once or more, these replace the default plans." placeholder:"NAME=LIMIT"`
	Reserved []string      `help:"Reserved concurrency of a function; 0 switches it off." placeholder:"FUNCTION=N"`
	Timeout  []string      `help:"Timeout of a function, from 1ms to 15m." placeholder:"FUNCTION=DURATION"`
	KeyCache time.Duration `help:"How long a key is trusted without a look at the store. AWS uses 30s; here a change is seen at once." default:"0s"`
	// ToolNames is a pointer, so that --applied sees whether it was given.
	ToolNames *string `name:"tool-names" help:"How tools are named in lists: underscore (postal_lookup), which is the default, or canonical (postal.lookup); calls take both." enum:"underscore,canonical" placeholder:"FORM"`
	Applied   string  `help:"Serve what Terraform applied, over its tables in AWS: a file with the output of 'terraform output -json'." placeholder:"FILE"`
	JSON      bool    `name:"json" help:"Print one line of JSON when ready."`
}

// longestTimeout is Lambda's own limit (docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
const longestTimeout = 15 * time.Minute

// settleTime is how long a stop waits for refunds that are on their way.
const settleTime = 5 * time.Second

func (c upCmd) Run(ctx context.Context, s streams) error {
	if c.Applied != "" {
		return c.runApplied(ctx, s)
	}
	plans, err := c.plans()
	if err != nil {
		return badUsage(err)
	}
	env := map[string]string{
		boot.KeyCacheSeconds: strconv.FormatFloat(c.KeyCache.Seconds(), 'f', -1, 64),
	}
	if c.ToolNames != nil {
		env[boot.ToolNames] = *c.ToolNames
	}
	functions, err := c.functions(env)
	if err != nil {
		return badUsage(err)
	}
	outside, err := c.upstream()
	if err != nil {
		return badUsage(err)
	}
	defer outside.close()
	maps.Copy(env, outside.environment)
	listener, err := c.listen()
	if err != nil {
		return err
	}
	defer listener.Close()
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
	served := laptop.Config{
		Functions: functions, Stores: st, Stage: laptopStage, Upstream: outside.deps,
		Brake: &laptop.Brake{Memory: st.Brake(laptop.BrakeName(laptopStage)), ReleaseCommand: "sekisho brake off --data " + c.Data},
	}
	return c.serve(ctx, listener, served, func(base string) error {
		return c.announce(s.out, base, outside.url, st, created)
	})
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

// serve serves until ctx ends. announce is told where, when it is ready.
func (c upCmd) serve(ctx context.Context, listener net.Listener, served laptop.Config, announce func(base string) error) error {
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
	served.Domain, served.Log, served.AccessLog, served.Now = listener.Addr().String(), log, access, time.Now
	service, err := laptop.New(served)
	if err != nil {
		return badUsage(err)
	}
	// A brake that was on stays on, from the first request.
	stopFollowing, err := followBrake(ctx, service)
	if err != nil {
		return errors.Join(err, service.Close(ctx))
	}
	defer stopFollowing()
	server := service.Server()
	server.ReadHeaderTimeout = 10 * time.Second
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	base := "http://" + listener.Addr().String()
	if served.StageInPath {
		base += "/" + served.Stage
	}
	if served.Brake != nil {
		remove, err := writeServiceFile(c.Data, "http://"+listener.Addr().String())
		if err != nil {
			return badUsage(err)
		}
		defer remove()
	}
	if err := announce(base); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if err := server.Shutdown(stopping); err != nil {
		return errors.Join(fmt.Errorf("stop: %w", err), server.Close(), service.Close(stopping))
	}
	return service.Close(stopping)
}

// followBrake brings the brake to what it was, and keeps it at what commands want, until the
// function that it returns is called.
func followBrake(ctx context.Context, service *laptop.Stack) (stop func(), err error) {
	if service.Brake == nil {
		return func() {}, nil
	}
	if err := service.Brake.Restart(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { service.FollowBrake(ctx) })
	return func() { cancel(); following.Wait() }, nil
}

// functions are those of the contract, all with one environment, changed as the flags say.
// accessFile holds the gateway's record of every request, which `sekisho usage export` reads.
const accessFile = "access.jsonl"

func (c upCmd) appendTo(name string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(c.Data, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, badUsage(fmt.Errorf("log file: %w", err))
	}
	return f, nil
}

func (c upCmd) functions(env map[string]string) (map[string]laptop.Function, error) {
	functions := laptop.Defaults(env)
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
		if err != nil || d < time.Millisecond || d > longestTimeout {
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

func (c upCmd) announce(w io.Writer, base, upstream string, st *stores, created map[string]string) error {
	if c.JSON {
		return printJSON(w, map[string]any{"mcp_url": base + "/mcp", "api_url": base, "upstream_url": upstream, "keys": created})
	}
	_, err := io.WriteString(w, announcement(base, upstream, c.Data, st.plans, created))
	return err
}
