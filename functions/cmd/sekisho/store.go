package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/sqlite"
	"sekisho/functions/internal/store"
)

// defaultData is the directory of a laptop's data, below where the command is run.
const defaultData = ".sekisho"

// storeFlags say where keys and usage are kept: a laptop's directory, or the tables of a
// deployment.
type storeFlags struct {
	Data          string `help:"Directory of the laptop's data." default:"${data}" placeholder:"DIR"`
	AccountsTable string `help:"DynamoDB table of the accounts; with --usage-table, instead of --data." env:"SEKISHO_ACCOUNTS_TABLE" placeholder:"NAME"`
	UsageTable    string `help:"DynamoDB table of the usage." env:"SEKISHO_USAGE_TABLE" placeholder:"NAME"`
	Plans         string `help:"The deployment's plans as JSON; by default those of the data directory, or the default plans." env:"SEKISHO_PLANS" placeholder:"JSON"`
}

// stores is an open store and the plans that go with it.
type stores struct {
	store.Store
	plans account.Plans
	close func() error
}

// open opens what the flags name. A laptop's directory must exist, so that a typo is told
// and not made into a new, empty store.
func (f storeFlags) open(ctx context.Context) (*stores, error) {
	if f.AccountsTable+f.UsageTable != "" {
		return f.openTables(ctx)
	}
	if _, err := os.Stat(filepath.Join(f.Data, databaseFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, badUsage(fmt.Errorf("there is no data in %s; start `sekisho up` there first, or name another directory with --data", f.Data))
	}
	return openDirectory(ctx, f.Data, f.Plans)
}

// openOrCreate is open for the service itself, which makes its directory and remembers the
// plans in it.
func (f storeFlags) openOrCreate(ctx context.Context) (*stores, error) {
	if err := os.MkdirAll(f.Data, 0o700); err != nil {
		return nil, badUsage(fmt.Errorf("data directory: %w; name one that can be written with --data", err))
	}
	if f.AccountsTable+f.UsageTable != "" {
		return f.openTables(ctx)
	}
	st, err := openDirectory(ctx, f.Data, f.Plans)
	if err != nil {
		return nil, err
	}
	if err := savePlans(f.Data, st.plans); err != nil {
		return nil, badUsage(errors.Join(err, st.close()))
	}
	return st, nil
}

func (f storeFlags) openTables(ctx context.Context) (*stores, error) {
	if f.AccountsTable == "" || f.UsageTable == "" {
		return nil, badUsage(errors.New("give both --accounts-table and --usage-table, or neither"))
	}
	plans, err := account.ParsePlans(f.Plans)
	if err != nil {
		return nil, badUsage(err)
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, badUsage(fmt.Errorf("AWS configuration: %w", err))
	}
	tables := dynamo.New(dynamodb.NewFromConfig(cfg), dynamo.Tables{Accounts: f.AccountsTable, Usage: f.UsageTable})
	return &stores{Store: tables, plans: plans, close: func() error { return nil }}, nil
}

const (
	databaseFile = "sekisho.db"
	plansFile    = "plans.json"
)

// openDirectory opens a laptop's data, and makes the database where there is none.
func openDirectory(ctx context.Context, dir, plansJSON string) (*stores, error) {
	plans, err := directoryPlans(dir, plansJSON)
	if err != nil {
		return nil, badUsage(err)
	}
	db, err := sqlite.Open(ctx, filepath.Join(dir, databaseFile))
	if err != nil {
		return nil, badUsage(fmt.Errorf("data directory %s: %w", dir, err))
	}
	return &stores{Store: db, plans: plans, close: db.Close}, nil
}

// directoryPlans returns the plans that were given, else those that the directory
// remembers, else the defaults.
func directoryPlans(dir, given string) (account.Plans, error) {
	if given != "" {
		return account.ParsePlans(given)
	}
	saved, err := os.ReadFile(filepath.Join(dir, plansFile))
	if errors.Is(err, fs.ErrNotExist) {
		return account.DefaultPlans(), nil
	}
	if err != nil {
		return nil, err
	}
	plans, err := account.ParsePlans(string(saved))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, plansFile), err)
	}
	return plans, nil
}

// savePlans makes later commands on the directory know its plans.
func savePlans(dir string, plans account.Plans) error {
	if err := os.WriteFile(filepath.Join(dir, plansFile), []byte(plans.String()+"\n"), 0o600); err != nil {
		return fmt.Errorf("remember the plans: %w", err)
	}
	return nil
}
