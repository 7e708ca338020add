//go:build interop

package clients

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const mcpRemoteFile = "node_modules/mcp-remote/dist/proxy.js"

// mcpRemote is the bridge for hosts that start their servers as programs. The host behind
// it is played by the Go SDK's client.
type mcpRemote struct {
	*goSDK
	stderr *tail
}

// newMCPRemote starts it with --protocol mode, for a host that speaks version.
func (p packages) newMCPRemote(ctx context.Context, mode, version string) (client, error) {
	home, err := os.MkdirTemp(p.dir, "mcp-remote")
	if err != nil {
		return nil, err
	}
	c := &mcpRemote{}
	c.goSDK = &goSDK{version: version, transport: func(at endpoint) (mcp.Transport, error) {
		args := []string{at.url}
		if at.browser != "" {
			// It derives its port from the address and leaves it between two sign-ins, so that several at once
			// would get each other's codes.
			port, err := freePort()
			if err != nil {
				return nil, err
			}
			args = append(args, port)
		}
		args = append(args, "--protocol", mode)
		for name := range at.header {
			args = append(args, "--header", name+":"+at.header.Get(name))
		}
		command := p.command(ctx, home, mcpRemoteFile, args...)
		command.Env = append(command.Env, opens(at)...)
		c.stderr = &tail{}
		command.Stderr = c.stderr
		return &mcp.CommandTransport{Command: command, TerminateDuration: 2 * time.Second}, nil
	}}
	return c, nil
}

// freePort is a port of this machine at which nobody listens.
func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return fmt.Sprint(listener.Addr().(*net.TCPAddr).Port), listener.Close()
}

// fatal is the last that mcp-remote says. The stack below it is left out.
var fatal = regexp.MustCompile(`(?m)^\[\d+\] (Fatal error: .*)$`)

// connect shows what the host finds in the program's log when the program ends.
func (c *mcpRemote) connect(ctx context.Context, at endpoint) (server, error) {
	s, err := c.goSDK.connect(ctx, at)
	if err == nil {
		return s, nil
	}
	said := fatal.FindStringSubmatch(c.stderr.String())
	if said == nil {
		return s, &broken{fmt.Errorf("%w: %s", err, c.stderr)}
	}
	return s, errors.New(said[1])
}
