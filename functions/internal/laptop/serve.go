package laptop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"
)

// The longest that a client may take for headers, for a whole request, and between two
// requests.
const (
	headerTime  = 10 * time.Second
	requestTime = 30 * time.Second
	idleTime    = 2 * time.Minute
)

// maxHeaderBytes is well over what the gateway takes, so that it is the gateway that refuses.
const maxHeaderBytes = 64 << 10

const (
	// graceTime is how long a stop waits for calls to end, and later for refunds.
	graceTime = 5 * time.Second
	// answerTime is how long the answers of calls that it had to end may take to go out.
	answerTime = time.Second
)

// Server is an HTTP server that leaves as much as it can to the gateway. What is not HTTP at
// all, such as a path with a broken percent-encoding, net/http still answers with a plain 400.
func (s *Service) Server() *http.Server { return s.server(s) }

// server serves a door or the API.
func (s *Service) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler:                      h,
		DisableGeneralOptionsHandler: true, // OPTIONS * is an unknown route
		ReadHeaderTimeout:            headerTime,
		ReadTimeout:                  requestTime,
		IdleTimeout:                  idleTime,
		MaxHeaderBytes:               maxHeaderBytes,
		ErrorLog:                     zap.NewStdLog(s.log),
	}
}

// ServeHTTP serves one request: below /_local/ what only the laptop has, else the API.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, localPrefix) {
		s.calls.serve(s.local, w, r)
		return
	}
	s.calls.serve(s.gateway, w, r)
}

// Listeners are where a service listens: at the REST API, and at its doors if it has them.
type Listeners struct{ API, Door, OAuth net.Listener }

// Serve serves until ctx ends, and then stops: what runs gets a few seconds to end. After that
// it is ended like a function whose time is up: its caller gets an answer, and its units back.
func (s *Service) Serve(ctx context.Context, at Listeners) error {
	servers := servers{}
	failed := make(chan error, 3)
	serve := func(h http.Handler, on net.Listener) {
		server := s.server(h)
		servers = append(servers, server)
		go func() { failed <- server.Serve(on) }()
	}
	serve(s, at.API)
	if at.Door != nil {
		serve(s.Door(), at.Door)
	}
	if at.OAuth != nil {
		serve(s.OAuth(), at.OAuth)
	}
	var err error
	select {
	case err = <-failed:
		err = fmt.Errorf("serve: %w", err)
		servers.close()
	case <-ctx.Done():
		s.drain(context.WithoutCancel(ctx), servers)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), graceTime)
	defer cancel()
	return errors.Join(err, s.Close(last))
}

// drain takes no more calls and returns when none runs. Clients that neither send nor read are
// cut off.
func (s *Service) drain(ctx context.Context, servers servers) {
	if servers.shutdown(ctx, graceTime) == nil {
		return
	}
	ended := make(chan struct{})
	var interrupting sync.WaitGroup
	interrupting.Go(func() { // again and again: a call may only now get to its function
		for {
			s.interrupt()
			select {
			case <-ended:
				return
			case <-time.After(answerTime / 10):
			}
		}
	})
	if servers.shutdown(ctx, answerTime) != nil {
		servers.close()
	}
	s.calls.end()
	close(ended)
	interrupting.Wait()
}

// servers are that of the API and those of the doors.
type servers []*http.Server

func (all servers) shutdown(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	failed := make([]error, len(all))
	var stopping sync.WaitGroup
	for i, server := range all { // at once, so that none takes calls while another ends
		stopping.Go(func() { failed[i] = server.Shutdown(ctx) })
	}
	stopping.Wait()
	return errors.Join(failed...)
}

func (all servers) close() {
	for _, server := range all {
		_ = server.Close()
	}
}

// interrupt ends the functions that serve calls. The authorizer goes on, because it may have
// taken units and not said so yet; so do settle, and mcp where it does the authorizer's work: its
// calls end with the functions that they wait for.
func (s *Service) interrupt() {
	for _, name := range s.Functions.Names() {
		if name != Authorizer && name != Settle && !(name == MCP && s.direct) {
			s.Functions.Interrupt(name)
		}
	}
}

// calls are the requests that are served now.
type calls struct {
	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
}

// serve serves a request, unless no more are taken.
func (c *calls) serve(h http.Handler, w http.ResponseWriter, r *http.Request) {
	if !c.begin() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	defer c.running.Done()
	h.ServeHTTP(w, r)
}

// begin is false when no more calls are taken.
func (c *calls) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.running.Add(1)
	}
	return !c.ended
}

// end takes no more calls and waits for those that run. Their connections are closed and their
// functions interrupted, so that is not long.
func (c *calls) end() {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.running.Wait()
}
