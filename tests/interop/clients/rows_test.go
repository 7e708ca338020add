//go:build interop

package clients

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// The protocol versions that are served.
const (
	newest = "2026-07-28"
	last   = "2025-11-25" // the last with a handshake
)

var versions = []string{newest, last, "2025-06-18", "2025-03-26"}

// rows are all clients with the versions that each can be made to speak.
func rows(p packages) ([]row, error) {
	inspectors, err := inspectorRows(p)
	if err != nil {
		return nil, err
	}
	sdks, err := typeScriptRows(p)
	if err != nil {
		return nil, err
	}
	bridges, err := mcpRemoteRows(p)
	if err != nil {
		return nil, err
	}
	clients, err := goRows()
	return append(append(append(inspectors, sdks...), bridges...), clients...), err
}

func inspectorRows(p packages) ([]row, error) {
	version, err := p.Version("@modelcontextprotocol/inspector")
	var all []row
	for _, r := range []row{{mode: "legacy", protocol: last}, {mode: "auto", protocol: newest}, {mode: "modern", protocol: newest}} {
		r.name = "Inspector CLI " + version
		r.checksNames, r.hidesProgress, r.logsIn, r.signsIn = true, true, always, true
		r.start = func(ctx context.Context) (client, error) { return p.newInspector(ctx, r.mode) }
		all = append(all, r)
	}
	return all, err
}

func typeScriptRows(p packages) ([]row, error) {
	var all []row
	add := func(sdk string, r row) error {
		version, err := p.Version(sdk)
		r.name = "TypeScript SDK " + version
		r.logsIn, r.signsIn = configured, true
		r.start = func(ctx context.Context) (client, error) { return p.newTypeScript(ctx, sdk, r.mode) }
		all = append(all, r)
		return err
	}
	const v2 = "@modelcontextprotocol/client"
	return all, errors.Join(
		add("sdk-1.12", row{mode: "v1", protocol: "2025-03-26", ownLogin: "Dynamic client registration failed: HTTP 400"}),
		add("sdk-1.20", row{mode: "v1", protocol: "2025-06-18"}),
		add("sdk-1.32", row{mode: "v1", protocol: last}),
		add(v2, row{mode: "legacy", protocol: last, keepsLists: true}),
		add(v2, row{mode: "auto", protocol: newest, keepsLists: true, own: "the server requires authorization (HTTP 401)"}),
		add(v2, row{mode: newest, protocol: newest, keepsLists: true, own: "the server requires authorization (HTTP 401)"}),
	)
}

func mcpRemoteRows(p packages) ([]row, error) {
	version, err := p.Version("mcp-remote")
	var all []row
	add := func(mode, host string) {
		all = append(all, row{
			name: "mcp-remote " + version, mode: fmt.Sprintf("%s, host %s", mode, host), protocol: host, logsIn: always, signsIn: true,
			start: func(ctx context.Context) (client, error) { return p.newMCPRemote(ctx, mode, host) },
		})
	}
	for _, host := range versions[1:] {
		add("legacy", host)
	}
	add("auto", last)
	return all, err
}

func goRows() ([]row, error) {
	var all []row
	for _, m := range []struct {
		name, module string
		keeps        []string // versions
		own          string
		signsIn      bool
		start        func(version string) client
	}{
		{"go-sdk", "github.com/modelcontextprotocol/go-sdk", []string{newest}, "", true, func(v string) client { return newGoSDK(v) }},
		{"mcp-go", "github.com/mark3labs/mcp-go", nil, "authorization required", false, func(v string) client { return &mcpGo{version: v} }},
	} {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", m.module).Output()
		if err != nil {
			return nil, fmt.Errorf("version of %s: %w", m.module, err)
		}
		for _, version := range versions {
			all = append(all, row{
				name: m.name + " " + strings.TrimPrefix(strings.TrimSpace(string(out)), "v"), mode: version, protocol: version,
				keepsLists: slices.Contains(m.keeps, version), own: m.own, signsIn: m.signsIn,
				start: func(context.Context) (client, error) { return m.start(version), nil },
			})
		}
	}
	return all, nil
}
