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

// upstreamFlags say which upstream the tools external.* call, and how often.
type upstreamFlags struct {
	Upstream          string        `help:"Upstream of the tools external.*, instead of a small one in this process." placeholder:"URL"`
	UpstreamTokenFile string        `help:"File with the token for --upstream." placeholder:"FILE"`
	UpstreamTimeout   time.Duration `help:"Timeout of one attempt." default:"15s"`
	UpstreamBurst     int           `help:"Calls to the upstream in a burst." default:"5"`
	UpstreamRate      float64       `help:"Sustained calls to the upstream per second." default:"1"`
	PublishPerDay     int           `help:"Publications per UTC day." default:"1"`
}

// given reports whether any flag differs from its default.
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

// upstream starts the small upstream, or uses the one that the flags name. That may have a
// private address, since whoever starts the service chose it.
func (f upstreamFlags) upstream() (*outside, error) {
	o := &outside{url: f.Upstream, deps: laptop.Upstream{Private: true}, close: func() error { return nil }}
	var err error
	if f.Upstream == "" {
		if f.UpstreamTokenFile != "" {
			return nil, errors.New("--upstream-token-file needs --upstream too: the built-in upstream makes its own token")
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

// asFlags replaces the names of variables in an error with those of the flags that set them.
var asFlags = strings.NewReplacer(
	boot.UpstreamURL, "--upstream", boot.UpstreamTimeoutSeconds, "--upstream-timeout", boot.UpstreamBurst, "--upstream-burst",
	boot.UpstreamRatePerSecond, "--upstream-rate", boot.PublishPerDay, "--publish-per-day",
)

// start serves the small upstream on a free port, behind a random token.
func (o *outside) start() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start the built-in upstream: %w; name another with --upstream", err)
	}
	token := rand.Text()
	server := &http.Server{Handler: upstream.Handler(token), ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	o.url, o.close = "http://"+listener.Addr().String(), server.Close
	o.deps.Token = func(context.Context) (string, error) { return token, nil }
	return nil
}

// fileToken returns a function that reads the file each time, so that the token can be changed
// while the service runs.
func fileToken(path string) (func(context.Context) (string, error), error) {
	read := func(context.Context) (string, error) {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("upstream token: %w", err)
		}
		token := strings.TrimSpace(string(content))
		if token == "" {
			return "", fmt.Errorf("upstream token: %s is empty", path)
		}
		return token, nil
	}
	_, err := read(context.Background())
	return read, err
}
