package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/handler/external"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/laptop/upstream"
	"sekisho/functions/internal/outbound"
)

// upstreamFlags say what the tools external.* call, and how often.
type upstreamFlags struct {
	Upstream          string        `help:"Address that the tools external.* call, instead of a small upstream in this process." placeholder:"URL"`
	UpstreamTokenFile string        `help:"File with the token for --upstream." placeholder:"FILE"`
	UpstreamTimeout   time.Duration `help:"Timeout of one attempt at the upstream." default:"15s"`
	UpstreamBurst     int           `help:"Calls to the upstream at once." default:"5"`
	UpstreamRate      float64       `help:"Calls to the upstream per second, in the long run." default:"1"`
	PublishPerDay     int           `help:"Publications per UTC day." default:"1"`
}

// given says whether any of the flags is not at its default.
func (f upstreamFlags) given() bool {
	return f != upstreamFlags{
		UpstreamTimeout: outbound.DefaultTimeout, UpstreamBurst: external.DefaultBurst,
		UpstreamRate: external.DefaultRatePerSecond, PublishPerDay: external.DefaultPublishPerDay,
	}
}

// outside is the upstream of a running service.
type outside struct {
	url         string
	environment map[string]string
	deps        laptop.Upstream
	close       func() error
}

// upstream starts the small upstream, or takes the one that the flags name. Whoever starts
// the service chose its address, so that may be a private one.
func (f upstreamFlags) upstream() (*outside, error) {
	o := &outside{url: f.Upstream, deps: laptop.Upstream{Private: true}, close: func() error { return nil }}
	var err error
	if f.Upstream == "" {
		if f.UpstreamTokenFile != "" {
			return nil, errors.New("--upstream-token-file: the token of what? Give --upstream too")
		}
		err = o.start()
	} else if f.UpstreamTokenFile != "" {
		o.deps.Token, err = fileToken(f.UpstreamTokenFile)
	}
	if err != nil {
		return nil, err
	}
	o.environment = map[string]string{
		boot.UpstreamURL:            o.url,
		boot.UpstreamTimeoutSeconds: strconv.FormatFloat(f.UpstreamTimeout.Seconds(), 'f', -1, 64),
		boot.UpstreamBurst:          strconv.Itoa(f.UpstreamBurst),
		boot.UpstreamRatePerSecond:  strconv.FormatFloat(f.UpstreamRate, 'f', -1, 64),
		boot.PublishPerDay:          strconv.Itoa(f.PublishPerDay),
	}
	if err := external.Check(boot.Map(o.environment)); err != nil {
		return nil, errors.Join(errors.New(asFlags.Replace(err.Error())), o.close())
	}
	return o, nil
}

// asFlags puts the flags in the place of the variables that they set.
var asFlags = strings.NewReplacer(
	boot.UpstreamURL, "--upstream", boot.UpstreamTimeoutSeconds, "--upstream-timeout", boot.UpstreamBurst, "--upstream-burst",
	boot.UpstreamRatePerSecond, "--upstream-rate", boot.PublishPerDay, "--publish-per-day",
)

// start serves the small upstream on a free port, for who has a token that nobody else has.
func (o *outside) start() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start an upstream: %w; name another one with --upstream", err)
	}
	token := rand.Text()
	server := &http.Server{Handler: upstream.Handler(token), ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	o.url, o.close = "http://"+listener.Addr().String(), server.Close
	o.deps.Token = func(context.Context) (string, error) { return token, nil }
	return nil
}

// fileToken reads the file anew each time that it is asked, so that a token can be changed
// while the service runs.
func fileToken(path string) (func(context.Context) (string, error), error) {
	read := func(context.Context) (string, error) {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("token for the upstream: %w", err)
		}
		token := strings.TrimSpace(string(content))
		if token == "" {
			return "", fmt.Errorf("token for the upstream: %s is empty", path)
		}
		return token, nil
	}
	_, err := read(context.Background())
	return read, err
}
