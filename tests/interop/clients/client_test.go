//go:build interop

package clients

import (
	"context"
	"net/http"
	"time"
)

// endpoint is what a client is configured with.
type endpoint struct {
	url    string
	header http.Header
	// browser is the program that opens an address for a person to log in. Without it no client logs in
	// where that is a matter of configuration.
	browser string
}

// server is what a client knows of the server once it is connected.
type server struct {
	Name         string `json:"name"`
	Protocol     string `json:"protocol"`
	Instructions string `json:"instructions"`
}

// result is what a client made of the answer to a call.
type result struct {
	// Text is all text that the result holds.
	Text       string         `json:"text"`
	IsError    bool           `json:"isError"`
	Structured map[string]any `json:"structured"`
	// Progress are the messages that came before.
	Progress []string `json:"progress"`
}

// client is one program with one way to speak the protocol. An error holds the words that
// the program shows or throws, unless it is a *broken.
type client interface {
	connect(context.Context, endpoint) (server, error)
	// list gives the names of the tools, as often as it is asked from the same connection.
	list(context.Context) ([]string, error)
	// others counts the prompts, resources and resource templates, of which there are none.
	others(context.Context) (int, error)
	call(ctx context.Context, tool string, arguments map[string]any) (result, error)
	// pass moves the client's clock. False: it has none but the real one.
	pass(context.Context, time.Duration) bool
	close()
}

// broken is an error of the test's, not one that the client shows.
type broken struct{ error }

// row is a client and a protocol version: one line of the matrix.
type row struct {
	// name of the client's software, with its version.
	name string
	// mode is how it is told which protocol to speak.
	mode string
	// protocol is the version that must come of it.
	protocol string
	start    func(context.Context) (client, error)

	// keepsLists says that the client keeps a list of tools for as long as the server allows.
	keepsLists bool
	// checksNames says that the client calls no tool that it has not seen in a list.
	checksNames bool
	// hidesProgress says that the client shows no progress of a call.
	hidesProgress bool
	// logsIn says what a client without a key does: it tries to log in always, never, or as
	// it is configured.
	logsIn logsIn
	// signsIn says that the client is taken through the OAuth door.
	signsIn bool
	// own are the words that the client shows of its own in the place of the body of an HTTP
	// 401; empty when it shows the body.
	own string
	// ownLogin are those that it shows instead of why the attempt to log in was refused.
	ownLogin string
}

type logsIn int

const (
	never logsIn = iota
	configured
	always
)

func (r row) label() string { return r.name + " " + r.mode }
