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

// defaultData is the laptop's data directory, relative to the working directory.
const defaultData = ".sekisho"

// storeFlags say where keys and usage are stored: a directory on the laptop, or a
// deployment's tables.
type storeFlags struct {
	Data          string `help:"The laptop's data directory." default:"${data}" placeholder:"DIR"`
	AccountsTable string `help:"DynamoDB table with the accounts; use it with --usage-table, instead of --data." env:"SEKISHO_ACCOUNTS_TABLE" placeholder:"NAME"`
	UsageTable    string `help:"DynamoDB table with the usage." env:"SEKISHO_USAGE_TABLE" placeholder:"NAME"`
	Plans         string `help:"The deployment's plans as JSON; by default those stored in the data directory, else the default plans." env:"SEKISHO_PLANS" placeholder:"JSON"`
}

// directory of the laptop's data, "" where the flags name tables.
func (f storeFlags) directory() string {
	if f.AccountsTable+f.UsageTable != "" {
		return ""
	}
	return f.Data
}

// stores is an open store with its plans.
type stores struct {
	store.Store
	plans account.Plans
	close func() error
}

// open opens the store that the flags name. A data directory must exist, so that a typo is an
// error and doesn't create an empty store.
func (f storeFlags) open(ctx context.Context) (*stores, error) {
	if f.directory() == "" {
		return f.openTables(ctx)
	}
	if _, err := os.Stat(filepath.Join(f.Data, databaseFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, badUsage(fmt.Errorf("there is no data in %s; run `sekisho up` with it first, or choose another directory with --data", f.Data))
	}
	return openDirectory(ctx, f.Data, f.Plans)
}

// openOrCreate is open for the service itself, which creates the data directory and stores its
// plans there.
func (f storeFlags) openOrCreate(ctx context.Context) (*stores, error) {
	if err := os.MkdirAll(f.Data, 0o700); err != nil {
		return nil, badUsage(fmt.Errorf("data directory: %w; choose a writable one with --data", err))
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

// openDirectory opens a data directory and creates its database if missing.
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

// directoryPlans returns the given plans, else those stored in the directory, else the defaults.
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

// savePlans stores the plans in the directory for later commands.
func savePlans(dir string, plans account.Plans) error {
	if err := os.WriteFile(filepath.Join(dir, plansFile), []byte(plans.String()+"\n"), 0o600); err != nil {
		return fmt.Errorf("save the plans: %w", err)
	}
	return nil
}
