package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"sekisho/functions/internal/aws/dynamo"
	"sekisho/functions/internal/aws/function"
	"sekisho/functions/internal/aws/parameter"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/handler/relay"
	"sekisho/functions/internal/laptop"
)

// deployment is an applied stack, ready to be served on the laptop over its tables in AWS.
type deployment struct {
	config laptop.Config
	door   laptop.AppliedDoor
	oauth  *laptop.AppliedOAuth // nil without one
	// leftOut are the functions that no call reaches.
	leftOut []string
	// accounts and usage are table names; plans is the plans as JSON.
	accounts, usage, plans string
}

// runApplied serves what Terraform applied.
func (c upCmd) runApplied(ctx context.Context, s streams) error {
	if err := c.onlyApplied(); err != nil {
		return badUsage(err)
	}
	d, err := c.readApplied(ctx)
	if err != nil {
		return badUsage(fmt.Errorf("--applied %s: %w", c.Applied, err))
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return badUsage(fmt.Errorf("log directory: %w; choose a writable one with --data", err))
	}
	listener, err := c.listen()
	if err != nil {
		return err
	}
	defer listener.Close()
	door, err := c.doorFlags.open(d.door.Kind)
	if err != nil {
		return err
	}
	defer func() { door.close() }()
	if door.door != nil {
		door.door.Routes, door.door.Throttle = d.door.Routes, d.door.Throttle()
	}
	if d.oauth != nil {
		if err := door.openOAuth(c.oauthFlags, d.oauth.Door()); err != nil {
			return err
		}
	}
	return c.serve(ctx, listener, door, d.config, func(at addresses) error { return c.announceApplied(s.out, at, d) })
}

// onlyApplied refuses flags that would make the service differ from what was applied.
func (c upCmd) onlyApplied() error {
	for flag, given := range map[string]bool{
		"--plan": len(c.Plan) > 0, "--reserved": len(c.Reserved) > 0, "--timeout": len(c.Timeout) > 0, "--key-cache": c.KeyCache != 0, "--allow-origin": len(c.Origins) > 0, "--tool-names": c.ToolNames != nil, "--listing": c.Listing != nil, "--listing-budget": c.ListingBudget != nil,
		"--dispatch": c.Dispatch != nil, "--door": c.Door != nil, "--streaming": c.Streaming, "--oauth and its options": c.OAuth || c.OAuthIssuer+c.OAuthAudience+c.OAuthScope+c.OAuthNewUserPlan != "", "--backend and its options": c.backendFlags.given(), "--api": c.API != "",
	} {
		if given {
			return fmt.Errorf("%s can't be combined with --applied, which serves exactly what was applied; change the stack's variables and apply again", flag)
		}
	}
	return nil
}

func (c upCmd) readApplied(ctx context.Context) (*deployment, error) {
	printed, err := os.ReadFile(c.Applied)
	if err != nil {
		return nil, fmt.Errorf("%w; create the file with: terraform -chdir=envs/dev output -json >%s", reason(err), c.Applied)
	}
	applied, err := laptop.ParseApplied(printed)
	if err != nil {
		return nil, err
	}
	options := []func(*awsconfig.LoadOptions) error{}
	if region := applied.Region(); region != "" {
		options = append(options, awsconfig.WithRegion(region))
	}
	cfg, err := awsconfig.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("AWS configuration: %w", err)
	}
	platform, err := platformEnvironment(ctx, cfg)
	if err != nil {
		return nil, err
	}
	doc, err := mergedContract(c.Contract)
	if err != nil {
		return nil, err
	}
	api, err := contract.Parse(doc)
	if err != nil {
		return nil, err
	}
	d := &deployment{door: applied.Door, oauth: applied.OAuth}
	if d.config, d.leftOut, err = applied.Config(platform, api); err != nil {
		return nil, err
	}
	if d.config.Contract, err = keep(c.Data, doc); err != nil {
		return nil, err
	}
	d.config.Relay = relay.Options{Secret: parameter.FromEnv, Invoker: function.FromEnv} // as in functions/relay
	return d, d.openStores(ctx, dynamodb.NewFromConfig(cfg))
}

// platformEnvironment is what Lambda puts into a function's environment.
func platformEnvironment(ctx context.Context, cfg aws.Config) (map[string]string, error) {
	credentials, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("no AWS credentials, which the tables need: %w; set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", err)
	}
	platform := map[string]string{
		"AWS_REGION": cfg.Region, "AWS_ACCESS_KEY_ID": credentials.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY": credentials.SecretAccessKey, "AWS_SESSION_TOKEN": credentials.SessionToken,
	}
	if cfg.BaseEndpoint != nil {
		platform["AWS_ENDPOINT_URL"] = *cfg.BaseEndpoint
	}
	return platform, nil
}

// openStores gives each function the tables that its environment names, and checks that they
// exist.
func (d *deployment) openStores(ctx context.Context, client *dynamodb.Client) error {
	tables := map[string]bool{}
	for name, f := range d.config.Functions {
		t := dynamo.Tables{Accounts: f.Env[boot.AccountsTable], Usage: f.Env[boot.UsageTable]}
		f.Stores = dynamo.New(client, t)
		d.config.Functions[name] = f
		tables[t.Accounts], tables[t.Usage] = true, true
	}
	authorizer := d.config.Functions[laptop.Authorizer].Env
	d.accounts, d.usage, d.plans = authorizer[boot.AccountsTable], authorizer[boot.UsageTable], authorizer[boot.Plans]
	delete(tables, "")
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if _, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name}); err != nil {
			return fmt.Errorf("table %s: %w; check that it has been applied, and that the credentials belong to its account", name, err)
		}
	}
	if len(tables) == 0 {
		return errors.New("no function's environment names a table; apply this version of Sekisho first")
	}
	return nil
}

func (c upCmd) announceApplied(w io.Writer, at addresses, d *deployment) error {
	if c.JSON {
		return printJSON(w, map[string]any{"mcp_url": at.mcp, "oauth_url": at.oauth, "api_url": at.api, "keys": map[string]string{}, "left_out": append([]string{}, d.leftOut...)})
	}
	var b strings.Builder
	b.WriteString("Sekisho is serving what was applied, over its tables in AWS.\n\n" + at.table(c.Data))
	if len(d.leftOut) > 0 {
		fmt.Fprintf(&b, "Left out because no call reaches them: %s\n\n", strings.Join(d.leftOut, ", "))
	}
	fmt.Fprintf(&b, "To create a key:\n\n  sekisho keys create --accounts-table %s --usage-table %s --plans '%s' --user NAME --plan PLAN\n\n", d.accounts, d.usage, d.plans)
	b.WriteString(clientConfiguration(at, "YOUR_KEY"))
	_, err := io.WriteString(w, b.String())
	return err
}
