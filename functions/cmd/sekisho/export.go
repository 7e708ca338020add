package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"sekisho/functions/internal/aws/logsinsights"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/money/chargeback"
	"sekisho/functions/internal/money/cost"
	"sekisho/functions/internal/usage"
)

// splitFlags say which month is split among the rows, and how. The report has them too.
type splitFlags struct {
	storeFlags
	contractFlag
	Month string `help:"Month in UTC, by default the current one." placeholder:"YYYY-MM"`
	Bill  string `help:"The month's bill in USD, to split among the rows." placeholder:"USD"`

	AccessLogGroup []string `help:"CloudWatch log groups that denied calls are in (Terraform's output denials_log_groups), to split them by tool." env:"SEKISHO_ACCESS_LOG_GROUP" placeholder:"NAME"`
	AccessLog      string   `help:"Access log file; by default access.jsonl and dispatched.jsonl in the data directory." placeholder:"FILE"`

	Region string `help:"Region whose prices are used to weigh calls." placeholder:"REGION"`
	Prices string `help:"File with your own prices; see sekisho cost." placeholder:"FILE"`
	viaFlags
}

type usageExportCmd struct {
	splitFlags
	Format string `help:"Output format: csv or json." enum:"csv,json" default:"csv"`
}

// Help explains the columns; kong shows it below the summary.
func (usageExportCmd) Help() string {
	return `Prints one row per meter and tool: units charged, units refunded for failed calls, calls
denied, and the share of the bill. Shares are in proportion to what such calls cost by
"sekisho cost"; --bill USD also prints them in dollars that add up to the bill.

Charged and refunded units come from the counters, denied calls by tool from the access log.
Both are written anyway, so figures per tool cost nothing extra. Denied calls that the counter
has and the log doesn't are in a row with the tool "(not in the log)"; those logged but not
counted yet, in a negative row "(not counted yet)". So the sums always equal those of
"sekisho usage". A key shares its meter with the keys that replaced it; user, plan and name
are those of the newest; apps are those that are signed in with its keys now.`
}

func (c usageExportCmd) Run(ctx context.Context, s streams) error {
	month, err := monthOf(c.Month, time.Now())
	if err != nil {
		return badUsage(err)
	}
	split, err := c.split(ctx, time.Now(), month)
	if err != nil {
		return err
	}
	split.sayNotes(s.err)
	return split.write(s.out, c.Format)
}

// splitMonth is a month split by meter and tool.
type splitMonth struct {
	usage.Period
	// sheets has the month itself, then the other months that were asked for.
	sheets []chargeback.Sheet
	// denials is nil if there is no log of the month.
	denials chargeback.Denials
	// billed says whether there was a bill to split.
	billed bool
	// apps are signed in with the keys of each meter.
	apps map[string][]string
	// notes are what whoever reads the figures should know.
	notes []string
}

// split splits a month, and the others without what only a log knows and without a bill.
func (f splitFlags) split(ctx context.Context, now time.Time, month usage.Period, others ...usage.Period) (*splitMonth, error) {
	bill, err := parseBill(f.Bill)
	if err != nil {
		return nil, badUsage(err)
	}
	api, err := f.load(f.directory())
	if err != nil {
		return nil, err
	}
	prices, err := f.weights(api)
	if err != nil {
		return nil, badUsage(err)
	}
	st, err := f.open(ctx)
	if err != nil {
		return nil, err
	}
	// Read the log before the counters: a call denied in between then shows up as "not in the
	// log" instead of in a negative row.
	denials, notes, err := f.denials(ctx, month, now)
	if err != nil {
		return nil, errors.Join(err, st.close())
	}
	metered, apps, err := countedMeters(ctx, st, api, append([]usage.Period{month}, others...))
	if err = errors.Join(err, st.close()); err != nil {
		return nil, err
	}
	sheets := []chargeback.Sheet{chargeback.Split(metered[0], denials, prices, bill)}
	for _, other := range metered[1:] {
		sheets = append(sheets, chargeback.Split(other, nil, prices, new(big.Rat)))
	}
	billed := f.Bill != ""
	return &splitMonth{month, sheets, denials, billed, apps, append(notes, sheetNotes(sheets[0], billed)...)}, nil
}

func (m *splitMonth) sayNotes(w io.Writer) {
	for _, note := range m.notes {
		fmt.Fprintln(w, "sekisho: note:", note)
	}
}

var dollars = regexp.MustCompile(`^\d{1,9}(\.\d{1,2})?$`)

func parseBill(text string) (*big.Rat, error) {
	if text == "" {
		return new(big.Rat), nil
	}
	if !dollars.MatchString(text) {
		return nil, fmt.Errorf("--bill: must be an amount in dollars such as 12 or 12.34, not %q", text)
	}
	bill, _ := new(big.Rat).SetString(text) // whatever matches the pattern parses
	return bill, nil
}

// weights are the prices of single calls and the units that they take.
func (f splitFlags) weights(api *contract.API) (chargeback.Prices, error) {
	model, err := costModel(f.Region, f.Prices)
	if err != nil {
		return chargeback.Prices{}, err
	}
	via, err := f.via()
	if err != nil {
		return chargeback.Prices{}, err
	}
	one := func(o cost.Outcome) *big.Rat { return model.One(cost.Kind{Outcome: o, Via: via}) }
	prices := chargeback.Prices{
		Admitted: one(cost.Admitted), Failed: one(cost.Failed), Denied: one(cost.Denied), Units: map[string]int64{},
	}
	for _, op := range api.Operations {
		prices.Units[op.ID] = op.Units
	}
	return prices, nil
}

// denials reads denied calls from Logs Insights or from a file.
func (f splitFlags) denials(ctx context.Context, p usage.Period, now time.Time) (chargeback.Denials, []string, error) {
	switch {
	case len(f.AccessLogGroup) > 0 && f.AccessLog != "":
		return nil, nil, badUsage(errors.New("give --access-log-group or --access-log, not both"))
	case len(f.AccessLogGroup) > 0:
		return f.groupDenials(ctx, p)
	case f.AccessLog == "" && f.AccountsTable != "":
		return nil, []string{"denied calls are not split by tool; to split them, name the access log's group with --access-log-group"}, nil
	}
	return f.fileDenials(p)
}

func (f splitFlags) groupDenials(ctx context.Context, p usage.Period) (chargeback.Denials, []string, error) {
	cfg, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, nil, badUsage(fmt.Errorf("AWS configuration: %w", err))
	}
	all, notes := chargeback.Denials{}, []string(nil)
	for _, name := range f.AccessLogGroup {
		group := logsinsights.Group{Client: cloudwatchlogs.NewFromConfig(cfg), Name: name, Now: time.Now}
		denials, known, err := group.Denied(ctx, p)
		switch {
		case errors.Is(err, logsinsights.ErrNoGroup):
			return nil, nil, badUsage(fmt.Errorf("--access-log-group %w; the names are Terraform's output denials_log_groups", err))
		case err != nil:
			return nil, nil, err
		case !known:
			notes = append(notes, fmt.Sprintf("the access log %s no longer has %s, so denied calls are not split by tool", name, p))
		}
		all.Add(denials)
	}
	return all, notes, nil
}

func (f splitFlags) fileDenials(p usage.Period) (chargeback.Denials, []string, error) {
	if f.AccessLog != "" {
		return readDenials(f.AccessLog, p)
	}
	all, notes, err := readDenials(filepath.Join(f.Data, accessFile), p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, []string{fmt.Sprintf("there is no %s, so denied calls are not split by tool", filepath.Join(f.Data, accessFile))}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	dispatched, more, err := readDenials(filepath.Join(f.Data, dispatchedFile), p)
	if errors.Is(err, fs.ErrNotExist) { // of a version before, or of nothing but commands
		err = nil
	}
	all.Add(dispatched)
	return all, append(notes, more...), err
}

func readDenials(path string, p usage.Period) (chargeback.Denials, []string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, badUsage(fmt.Errorf("access log: %w", err))
	}
	defer file.Close()
	reading, err := chargeback.ReadLog(file, p)
	if err != nil {
		return nil, nil, fmt.Errorf("access log %s: %w", path, err)
	}
	var notes []string
	if reading.Malformed > 0 {
		notes = append(notes, fmt.Sprintf("%s: skipped %d malformed lines", path, reading.Malformed))
	}
	if reading.Torn {
		notes = append(notes, path+": skipped the last line, which is incomplete")
	}
	return reading.Denials, notes, nil
}

// countedMeters reads all meters in each of the months, with one read per meter, and the apps that
// are signed in with their keys.
func countedMeters(ctx context.Context, st *stores, api *contract.API, months []usage.Period) ([][]chargeback.Meter, map[string][]string, error) {
	metered, err := owners(ctx, st)
	if err != nil {
		return nil, nil, err
	}
	all, apps := make([][]chargeback.Meter, len(months)), map[string][]string{}
	for id, k := range metered {
		counted, err := st.Usage().Counts(ctx, id, months...)
		if err != nil {
			return nil, nil, fmt.Errorf("usage of %s: %w", id, err)
		}
		apps[id] = k.apps
		for i, counts := range counted {
			counts.Operations = contract.Named(api, counts.Operations)
			all[i] = append(all[i], chargeback.Meter{ID: id, User: k.UserID, Plan: k.Plan, Name: k.Name, Counts: counts})
		}
	}
	return all, apps, nil
}

func sheetNotes(sheet chargeback.Sheet, billed bool) (notes []string) {
	if sheet.Strangers > 0 {
		notes = append(notes, fmt.Sprintf("left out %d denied calls in the log whose keys are not in this store", sheet.Strangers))
	}
	if billed && sheet.Unshared {
		notes = append(notes, "there were no calls to split the bill by")
	}
	return notes
}

// exportRow is a row as JSON; the CSV's columns have the same names.
type exportRow struct {
	Meter    string       `json:"meter"`
	User     string       `json:"user"`
	Plan     string       `json:"plan"`
	Name     string       `json:"name"`
	Month    string       `json:"month"`
	Tool     string       `json:"tool"`
	Charged  int64        `json:"charged"`
	Refunded int64        `json:"refunded"`
	Denied   int64        `json:"denied"`
	Share    json.Number  `json:"share_percent"`
	USD      *json.Number `json:"usd,omitempty"`
	Apps     []string     `json:"apps"`
}

var exportHeader = []string{"meter", "user", "plan", "name", "month", "tool", "charged", "refunded", "denied", "share_percent"}

// write writes the rows of the month as csv or json.
func (m *splitMonth) write(w io.Writer, format string) error {
	rows := make([]exportRow, 0, len(m.sheets[0].Rows))
	for _, r := range m.sheets[0].Rows {
		row := exportRow{
			Meter: r.Meter, User: r.User, Plan: r.Plan, Name: r.Name, Month: m.String(), Tool: r.Tool,
			Charged: r.Charged, Refunded: r.Refunded, Denied: r.Denied,
			Share: json.Number(fixedPoint(r.Share, chargeback.ShareDecimals)), Apps: m.apps[r.Meter],
		}
		if m.billed {
			usd := json.Number(fixedPoint(r.Cents, 2))
			row.USD = &usd
		}
		rows = append(rows, row)
	}
	if format == "json" {
		return printJSON(w, rows)
	}
	header, lines := slices.Clone(exportHeader), make([][]string, 0, len(rows))
	if m.billed {
		header = append(header, "usd")
	}
	header = append(header, "apps")
	for _, r := range rows {
		line := []string{
			r.Meter, r.User, r.Plan, r.Name, r.Month, r.Tool,
			strconv.FormatInt(r.Charged, 10), strconv.FormatInt(r.Refunded, 10), strconv.FormatInt(r.Denied, 10), r.Share.String(),
		}
		if r.USD != nil {
			line = append(line, r.USD.String())
		}
		lines = append(lines, append(line, appsCell(r.Apps)))
	}
	return writeCSV(w, header, lines)
}

// fixedPoint writes n, which counts units of the last decimal.
func fixedPoint(n int64, decimals int) string {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	return new(big.Rat).SetFrac(big.NewInt(n), scale).FloatString(decimals)
}
