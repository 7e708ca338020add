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

type usageExportCmd struct {
	storeFlags
	Month  string `help:"Month in UTC, by default the current one." placeholder:"YYYY-MM"`
	Format string `help:"Output format: csv or json." enum:"csv,json" default:"csv"`
	Bill   string `help:"The month's bill in USD, to split among the rows." placeholder:"USD"`

	AccessLogGroup []string `help:"CloudWatch log groups that denied calls are in (Terraform's output denials_log_groups), to split them by tool." env:"SEKISHO_ACCESS_LOG_GROUP" placeholder:"NAME"`
	AccessLog      string   `help:"Access log file; by default access.jsonl and dispatched.jsonl in the data directory." placeholder:"FILE"`

	Region string `help:"Region whose prices are used to weigh calls." placeholder:"REGION"`
	Prices string `help:"File with your own prices; see sekisho cost." placeholder:"FILE"`
	viaFlags
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
are those of the newest.`
}

func (c usageExportCmd) Run(ctx context.Context, s streams) error {
	now := time.Now()
	period, err := monthOf(c.Month, now)
	if err != nil {
		return badUsage(err)
	}
	bill, err := parseBill(c.Bill)
	if err != nil {
		return badUsage(err)
	}
	prices, err := c.weights()
	if err != nil {
		return badUsage(err)
	}
	st, err := c.open(ctx)
	if err != nil {
		return err
	}
	// Read the log before the counters: a call denied in between then shows up as "not in the
	// log" instead of in a negative row.
	denials, notes, err := c.denials(ctx, period, now)
	if err != nil {
		return errors.Join(err, st.close())
	}
	metered, err := countedMeters(ctx, st, period)
	if err = errors.Join(err, st.close()); err != nil {
		return err
	}
	sheet := chargeback.Split(metered, denials, prices, bill)
	for _, note := range append(notes, sheetNotes(sheet, c.Bill != "")...) {
		fmt.Fprintln(s.err, "sekisho: note:", note)
	}
	return c.write(s.out, sheet, period)
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
func (c usageExportCmd) weights() (chargeback.Prices, error) {
	model, err := costModel(c.Region, c.Prices)
	if err != nil {
		return chargeback.Prices{}, err
	}
	api, err := contract.Load()
	if err != nil {
		return chargeback.Prices{}, err
	}
	via, err := c.via()
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
func (c usageExportCmd) denials(ctx context.Context, p usage.Period, now time.Time) (chargeback.Denials, []string, error) {
	switch {
	case len(c.AccessLogGroup) > 0 && c.AccessLog != "":
		return nil, nil, badUsage(errors.New("give --access-log-group or --access-log, not both"))
	case len(c.AccessLogGroup) > 0:
		return c.groupDenials(ctx, p)
	case c.AccessLog == "" && c.AccountsTable != "":
		return nil, []string{"denied calls are not split by tool; to split them, name the access log's group with --access-log-group"}, nil
	}
	return c.fileDenials(p)
}

func (c usageExportCmd) groupDenials(ctx context.Context, p usage.Period) (chargeback.Denials, []string, error) {
	cfg, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, nil, badUsage(fmt.Errorf("AWS configuration: %w", err))
	}
	all, notes := chargeback.Denials{}, []string(nil)
	for _, name := range c.AccessLogGroup {
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

func (c usageExportCmd) fileDenials(p usage.Period) (chargeback.Denials, []string, error) {
	if c.AccessLog != "" {
		return readDenials(c.AccessLog, p)
	}
	all, notes, err := readDenials(filepath.Join(c.Data, accessFile), p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, []string{fmt.Sprintf("there is no %s, so denied calls are not split by tool", filepath.Join(c.Data, accessFile))}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	dispatched, more, err := readDenials(filepath.Join(c.Data, dispatchedFile), p)
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

func countedMeters(ctx context.Context, st *stores, p usage.Period) ([]chargeback.Meter, error) {
	api, err := contract.Load()
	if err != nil {
		return nil, err
	}
	newest, err := meters(ctx, st)
	if err != nil {
		return nil, err
	}
	var all []chargeback.Meter
	for id, k := range newest {
		months, err := st.Usage().Counts(ctx, id, p)
		if err != nil {
			return nil, fmt.Errorf("usage of %s: %w", id, err)
		}
		counts := months[0]
		counts.Operations = contract.Named(api, counts.Operations)
		all = append(all, chargeback.Meter{ID: id, User: k.UserID, Plan: k.Plan, Name: k.Name, Counts: counts})
	}
	return all, nil
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
}

var exportHeader = []string{"meter", "user", "plan", "name", "month", "tool", "charged", "refunded", "denied", "share_percent"}

func (c usageExportCmd) write(w io.Writer, sheet chargeback.Sheet, p usage.Period) error {
	rows := make([]exportRow, 0, len(sheet.Rows))
	for _, r := range sheet.Rows {
		row := exportRow{
			Meter: r.Meter, User: r.User, Plan: r.Plan, Name: r.Name, Month: p.String(), Tool: r.Tool,
			Charged: r.Charged, Refunded: r.Refunded, Denied: r.Denied,
			Share: json.Number(fixedPoint(r.Share, chargeback.ShareDecimals)),
		}
		if c.Bill != "" {
			usd := json.Number(fixedPoint(r.Cents, 2))
			row.USD = &usd
		}
		rows = append(rows, row)
	}
	if c.Format == "json" {
		return printJSON(w, rows)
	}
	header, lines := exportHeader, make([][]string, 0, len(rows))
	if c.Bill != "" {
		header = append(header[:len(header):len(header)], "usd")
	}
	for _, r := range rows {
		line := []string{
			r.Meter, r.User, r.Plan, r.Name, r.Month, r.Tool,
			strconv.FormatInt(r.Charged, 10), strconv.FormatInt(r.Refunded, 10), strconv.FormatInt(r.Denied, 10), r.Share.String(),
		}
		if r.USD != nil {
			line = append(line, r.USD.String())
		}
		lines = append(lines, line)
	}
	return writeCSV(w, header, lines)
}

// fixedPoint writes n, which counts units of the last decimal.
func fixedPoint(n int64, decimals int) string {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
	return new(big.Rat).SetFrac(big.NewInt(n), scale).FloatString(decimals)
}
