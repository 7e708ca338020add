//go:build interop

package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

const inspectorFile = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"

// inspector is the MCP Inspector's command line: a process and a connection per operation.
type inspector struct {
	packages packages
	home     string
	era      string
	at       endpoint
}

// Exit codes of the Inspector, as its documentation has them.
const (
	inspectorOK      = 0
	inspectorIsError = 5
)

// newInspector gives it a home of its own: it keeps a file there that several at once would
// fight over.
func (p packages) newInspector(_ context.Context, era string) (client, error) {
	home, err := os.MkdirTemp(p.dir, "inspector")
	return &inspector{packages: p, home: home, era: era}, err
}

// run returns the result that is printed. When there is none, the error has the message
// that is printed instead.
func (c *inspector) run(ctx context.Context, args ...string) (json.RawMessage, error) {
	args = append([]string{"--cli", c.at.url, "--transport", "http", "--format", "json", "--protocol-era", c.era, "--connect-timeout", "60000",
		// It listens before it registers, and several run at once.
		"--callback-url", "http://127.0.0.1:0/oauth/callback"}, args...)
	for name := range c.at.header {
		args = append(args, "--header", name+": "+c.at.header.Get(name))
	}
	command := c.packages.command(ctx, c.home, inspectorFile, args...)
	if c.at.browser != "" {
		// Each operation is a process of its own, which finds the tokens of the one before in a file.
		command.Env = append(append(command.Env, opens(c.at)...), "MCP_INSPECTOR_SECRET_STORE=file")
	}
	var out, stderr bytes.Buffer
	command.Stdout, command.Stderr = &out, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, &broken{err}
	}
	if code := command.ProcessState.ExitCode(); out.Len() > 0 && (code == inspectorOK || code == inspectorIsError) {
		var printed struct{ Result json.RawMessage }
		if err := json.Unmarshal(out.Bytes(), &printed); err != nil {
			return nil, &broken{fmt.Errorf("%w in %s", err, &out)}
		}
		return printed.Result, nil
	}
	return nil, inspectorError(stderr.String())
}

var inspectorMessage = regexp.MustCompile(`(?m)^\{"error":.*\}$`)

// inspectorError takes the message out of what is on standard error, among notes about the
// machine's keychain.
func inspectorError(stderr string) error {
	var printed struct{ Error struct{ Message string } }
	line := inspectorMessage.FindString(stderr)
	if err := json.Unmarshal([]byte(line), &printed); err != nil || printed.Error.Message == "" {
		return &broken{errors.New("the Inspector said no error in JSON: " + stderr)}
	}
	return errors.New(printed.Error.Message)
}

func (c *inspector) connect(ctx context.Context, at endpoint) (server, error) {
	c.at = at
	raw, err := c.run(ctx, "--method", "initialize")
	if err != nil {
		return server{}, err
	}
	var r struct {
		ServerInfo                    struct{ Name string }
		ProtocolVersion, Instructions string
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return server{}, &broken{err}
	}
	return server{Name: r.ServerInfo.Name, Protocol: r.ProtocolVersion, Instructions: r.Instructions}, nil
}

func (c *inspector) list(ctx context.Context) ([]string, error) {
	raw, err := c.run(ctx, "--method", "tools/list")
	if err != nil {
		return nil, err
	}
	var list struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, &broken{err}
	}
	var names []string
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names, nil
}

func (c *inspector) others(ctx context.Context) (int, error) {
	var all struct{ Prompts, Resources, ResourceTemplates []any }
	for _, method := range []string{"prompts/list", "resources/list", "resources/templates/list"} {
		raw, err := c.run(ctx, "--method", method)
		if err != nil {
			return 0, err
		}
		if err := json.Unmarshal(raw, &all); err != nil {
			return 0, &broken{err}
		}
	}
	return len(all.Prompts) + len(all.Resources) + len(all.ResourceTemplates), nil
}

func (c *inspector) call(ctx context.Context, tool string, arguments map[string]any) (result, error) {
	encoded, err := json.Marshal(arguments)
	if err != nil {
		return result{}, &broken{err}
	}
	raw, err := c.run(ctx, "--method", "tools/call", "--tool-name", tool, "--tool-args-json", string(encoded))
	if err != nil {
		return result{}, err
	}
	var got struct {
		Content           []struct{ Text string }
		IsError           bool
		StructuredContent map[string]any
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		return result{}, &broken{err}
	}
	var texts []string
	for _, part := range got.Content {
		texts = append(texts, part.Text)
	}
	return result{Text: strings.Join(texts, "\n"), IsError: got.IsError, Structured: got.StructuredContent}, nil
}

func (c *inspector) pass(context.Context, time.Duration) bool { return false }

func (c *inspector) close() {}
