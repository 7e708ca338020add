package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/contract/source"
	"sekisho/functions/internal/mcpserver"
	"sekisho/functions/internal/openapi"
)

// chooseFlags say what of a description becomes tools.
type chooseFlags struct {
	Prefix     string   `help:"Put this before every route, such as /github." placeholder:"/PATH"`
	Include    []string `help:"Import only what matches tag:NAME, path:/PATH or name:NAME, each with * for any text. Repeatable." sep:"none" placeholder:"BY:TEXT"`
	Exclude    []string `help:"Leave out what matches. Repeatable." sep:"none" placeholder:"BY:TEXT"`
	ReadOnly   bool     `help:"Import GET operations only."`
	Deprecated bool     `help:"List deprecated operations as tools too."`
}

func (f chooseFlags) given() bool {
	return f.Prefix != "" || len(f.Include)+len(f.Exclude) > 0 || f.ReadOnly || f.Deprecated
}

func (f chooseFlags) options(location string) openapi.Options {
	return openapi.Options{
		Location: location, Prefix: f.Prefix, Include: f.Include, Exclude: f.Exclude, ReadOnly: f.ReadOnly, Deprecated: f.Deprecated,
	}
}

// apiFlags have `up` import a description each time that it starts.
type apiFlags struct {
	API string `name:"api" help:"Serve an API by its OpenAPI 3 or Swagger 2.0 description, a file or a URL, as 'import' makes a contract of it. Without --backend its calls go to the server that the description names." placeholder:"FILE|URL"`
	chooseFlags
	WithTools bool `help:"Serve the tools of this repository beside those of --api."`
}

// check refuses flags that would be ignored.
func (f apiFlags) check(contractFile string) error {
	switch {
	case f.API == "" && (f.chooseFlags.given() || f.WithTools):
		return errors.New("--prefix, --include, --exclude, --read-only, --deprecated and --with-tools go with --api")
	case f.API != "" && contractFile != "":
		return errors.New("--api makes a contract, and --contract (or the variable SEKISHO_CONTRACT) names one: give one of them")
	}
	return nil
}

// imported is the merged contract of a description. private lets it come from a private address.
func (f apiFlags) imported(ctx context.Context, private bool) ([]byte, *openapi.Report, error) {
	beside := [][]byte{}
	if f.WithTools {
		tools, err := source.JSON(contract.Tools())
		if err != nil {
			return nil, nil, err
		}
		beside = append(beside, tools)
	}
	own, err := ownContract(beside...)
	if err != nil {
		return nil, nil, err
	}
	options := f.options(f.API)
	options.Private, options.Served = private || isLocal(f.API), true
	if options.Reserved, err = reservedNames(own); err != nil {
		return nil, nil, err
	}
	text, report, err := openapi.Import(ctx, options)
	if err != nil {
		return nil, nil, err
	}
	made, err := source.JSON(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.API, err)
	}
	if own, err = ownContract(append(beside, made)...); err == nil {
		own, err = mcpserver.Measured(own)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w; leave operations out with --exclude, or run `sekisho import` and edit what it writes", f.API, err)
	}
	return own, report, nil
}

// ownContract is the service's own contract, with contracts of tools merged in.
func ownContract(tools ...[]byte) ([]byte, error) {
	base, err := source.JSON(contract.Base())
	if err != nil {
		return nil, err
	}
	return contract.Merge(base, tools...)
}

// tell writes what the import did, and what is still missing before calls can succeed. The error
// is a backend without an address.
func (f apiFlags) tell(w io.Writer, report *openapi.Report, behind *backends) error {
	if err := report.Write(w, false); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, name := range slices.Sorted(maps.Keys(report.Backends)) {
		s := behind.settings[name]
		switch {
		case !s.Configured() && report.ServerPath != "":
			return fmt.Errorf("%s: the description's server, %s, has no host: give --backend %s=https://HOST%[2]s", f.API, report.ServerPath, name)
		case !s.Configured():
			return fmt.Errorf("%s: the description names no server: give --backend %s=https://HOST", f.API, name)
		case s.URL == report.Backends[name]:
			fmt.Fprintf(w, "%s: calls go to the description's server, %s; --backend names another.\n", name, s.URL)
		case s.URL != "" && report.ServerPath != "" && pathOf(s.URL) == "":
			fmt.Fprintf(w, "%s: the description's server has the path %s, and %s has none: if calls are answered with 404, put it there.\n", name, report.ServerPath, s.URL)
		}
		if s.Auth == nil && s.FunctionARN == "" {
			tellAuth(w, name, report.Auth)
		}
	}
	fmt.Fprintln(w)
	return nil
}

// tellAuth warns that no credential is configured, and names the flags that give one.
func tellAuth(w io.Writer, name string, asked []openapi.Auth) {
	var flags []string
	for _, a := range asked {
		if a.Flag != "" && !slices.Contains(flags, a.Flag) {
			flags = append(flags, a.Flag)
		}
	}
	switch {
	case len(flags) > 0:
		fmt.Fprintf(w, "Warning: %s asks for a credential, and none is given: add %s\n", name, strings.Join(flags, " or "))
	case len(asked) > 0:
		fmt.Fprintf(w, "Warning: %s asks for %s, which can't be given.\n", name, asked[0].Asks)
	}
}

func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(u.Path, "/")
}
