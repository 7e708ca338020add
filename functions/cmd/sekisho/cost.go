package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sekisho/functions/internal/money/cost"
	"sekisho/functions/internal/money/price"
)

// costCmd prices calls. What a call makes the service do has been measured; it isn't a flag.
type costCmd struct {
	Calls  string `required:"" help:"Calls in a month, including denied ones." placeholder:"N"`
	Denied string `help:"How many of the calls are denied: a number or a percentage such as 10%." placeholder:"N|P%"`
	Failed string `help:"How many of the others fail and are refunded: a number or a percentage such as 1%." placeholder:"N|P%"`
	Region string `help:"Region of the prices; by default the price table's own. The report lists prices that a region lacks." placeholder:"REGION"`
	viaFlags
	Format string `help:"Output format: text, json, csv or svg." enum:"text,json,csv,svg" default:"text"`
	Prices string `help:"File with your own prices, in the format of functions/internal/money/price/prices.json; it needs only the rows that differ." placeholder:"FILE"`

	WAF bool `name:"waf" help:"With a rate rule of AWS WAF before the API (api.waf in Terraform)."`

	AuthorizerMS    *float64 `name:"authorizer-ms" help:"Billed milliseconds per run of the authorizer." placeholder:"MS"`
	MCPMS           *float64 `name:"mcp-ms" help:"Billed milliseconds per run of the MCP function." placeholder:"MS"`
	BusinessMS      *float64 `name:"business-ms" help:"Billed milliseconds per run of a tool's function." placeholder:"MS"`
	SettleMS        *float64 `name:"settle-ms" help:"Billed milliseconds per run of settle." placeholder:"MS"`
	OAuthMS         *float64 `name:"oauth-ms" help:"Billed milliseconds per run of the function that people sign in at." placeholder:"MS"`
	LaptopDurations bool     `help:"Use durations measured on a laptop, over an emulator of DynamoDB."`
	Memory          []string `help:"Memory in MB of authorizer, mcp, business, settle or oauth; by default what Terraform configures." placeholder:"FUNCTION=MB"`
}

func (c costCmd) Run(s streams) error {
	report, err := c.report()
	if err != nil {
		return badUsage(err)
	}
	write := map[string]func(io.Writer) error{
		"text": report.Text, "json": report.JSON, "csv": report.CSV, "svg": report.SVG,
	}[c.Format]
	return write(s.out)
}

// viaFlags say how calls come in.
type viaFlags struct {
	Via string `help:"How calls come in: mcp or rest." enum:"mcp,rest" default:"mcp"`
	// Topology is a pointer, so that it can be refused for REST calls, which are the same in all.
	Topology *string `help:"How mcp is reached and gets calls to their functions: proxy (two requests to the REST API each), which is the default, direct-http (one to an HTTP API) or direct-url (a function URL); or oauth, with tokens by the OAuth door." enum:"proxy,direct-http,direct-url,oauth" placeholder:"TOPOLOGY"`
}

func (f viaFlags) via() (cost.Via, error) {
	switch {
	case f.Topology == nil:
		return cost.Via(f.Via), nil
	case cost.Via(f.Via) == cost.REST:
		return "", errors.New("--topology is for calls by MCP: those by REST are the same in each")
	}
	return cost.ViaTopology(*f.Topology), nil
}

func (c costCmd) report() (*cost.Report, error) {
	via, err := c.via()
	if err != nil {
		return nil, err
	}
	traffic, err := cost.ParseTraffic(c.Calls, c.Denied, c.Failed, via)
	if err != nil {
		return nil, fmt.Errorf("--%w", err)
	}
	model, err := costModel(c.Region, c.Prices)
	if err != nil {
		return nil, err
	}
	if err := c.setUp(&model); err != nil {
		return nil, err
	}
	idle, err := cost.IdleStack()
	if err != nil {
		return nil, err
	}
	return model.Report(traffic, idle), nil
}

// costModel makes a model with the prices of a region ("" = the table's own), overridden by
// those of a file.
func costModel(region, file string) (cost.Model, error) {
	book, err := price.Load()
	if err != nil {
		return cost.Model{}, err
	}
	if file != "" {
		rows, err := os.ReadFile(file)
		if err != nil {
			return cost.Model{}, fmt.Errorf("--prices: %w", err)
		}
		if err := book.Override(rows); err != nil {
			return cost.Model{}, fmt.Errorf("--prices %s: %w", file, err)
		}
	}
	if region == "" {
		region = book.Base
	}
	table, known := book.Region(region)
	if !known {
		return cost.Model{}, fmt.Errorf("--region %s: only these have prices: %s; add others with --prices FILE, under \"regions\"",
			region, strings.Join(book.Names(), ", "))
	}
	measured, err := cost.Load()
	if err != nil {
		return cost.Model{}, err
	}
	setup, err := cost.DefaultSetup()
	if err != nil {
		return cost.Model{}, err
	}
	return cost.Model{Measured: measured, Prices: table, Setup: setup}, nil
}

func (c costCmd) setUp(m *cost.Model) error {
	m.Setup.WAF = c.WAF
	if c.LaptopDurations {
		m.Setup.UseLaptop(m.Measured)
	}
	for name, ms := range map[string]*float64{
		"authorizer": c.AuthorizerMS, "mcp": c.MCPMS, "business": c.BusinessMS, "settle": c.SettleMS,
		cost.SignInFunction: c.OAuthMS,
	} {
		if ms == nil {
			continue
		}
		if err := m.Setup.GiveDuration(name, *ms); err != nil {
			return fmt.Errorf("--%s-ms: %w", name, err)
		}
	}
	for _, flag := range c.Memory {
		name, value, ok := strings.Cut(flag, "=")
		mb, err := strconv.ParseInt(value, 10, 64)
		if !ok || err != nil {
			return fmt.Errorf("--memory %s: write FUNCTION=MB, such as mcp=1024", flag)
		}
		if err := m.Setup.GiveMemory(name, mb); err != nil {
			return fmt.Errorf("--memory: %w", err)
		}
	}
	return nil
}

var number = regexp.MustCompile(`^(--[a-z]+=)?[0-9.]+$`)

// joinPercent rejoins a number and its percent sign if the shell split them, as in 1 %.
func joinPercent(args []string) []string {
	joined := slices.Clone(args[:0])
	for _, arg := range args {
		if last := len(joined) - 1; arg == "%" && last >= 0 && number.MatchString(joined[last]) {
			joined[last] += "%"
			continue
		}
		joined = append(joined, arg)
	}
	return joined
}
