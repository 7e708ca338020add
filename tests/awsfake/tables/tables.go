// Package tables makes the two tables of Sekisho's DynamoDB store, for tests. In AWS,
// Terraform makes them; a test of the plan compares both.
package tables

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdkratelimit "github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sekisho/tests/awsfake/moto"
)

// Table is what the store needs of a table.
type Table struct {
	BillingMode types.BillingMode
	HashKey     string
	HashKeyType types.ScalarAttributeType
	// TTL is the attribute with the epoch second after which an item may be removed.
	TTL string
}

// Accounts and Usage are the two tables.
var (
	Accounts = Table{BillingMode: types.BillingModePayPerRequest, HashKey: "pk", HashKeyType: types.ScalarAttributeTypeS, TTL: "expires_at"}
	Usage    = Accounts
)

// Client is a client for the emulator at endpoint that goes through a transport, and does not slow
// itself down.
func Client(endpoint string, transport http.RoundTripper) *dynamodb.Client {
	return dynamodb.NewFromConfig(moto.Config(endpoint), func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: transport}
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.RateLimiter = sdkratelimit.None })
	})
}

// Fresh makes a pair of tables that nobody else has. The SDK repeats a request whose answer was lost,
// and then hears that the table exists: others are made in its place.
func Fresh(ctx context.Context, client *dynamodb.Client, name string) (accounts, usage string, err error) {
	for attempt := range 3 {
		accounts, usage = fmt.Sprintf("%s-accounts-%d", name, attempt), fmt.Sprintf("%s-usage-%d", name, attempt)
		err = Create(ctx, client, accounts, usage)
		if exists := new(types.ResourceInUseException); !errors.As(err, &exists) {
			break
		}
	}
	return accounts, usage, err
}

// Create makes both tables, under the names given, and waits until they can be used.
func Create(ctx context.Context, client *dynamodb.Client, accounts, usage string) error {
	for name, table := range map[string]Table{accounts: Accounts, usage: Usage} {
		if err := table.create(ctx, client, name); err != nil {
			return fmt.Errorf("create table %s: %w", name, err)
		}
	}
	return nil
}

func (t Table) create(ctx context.Context, client *dynamodb.Client, name string) error {
	_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:            &name,
		BillingMode:          t.BillingMode,
		KeySchema:            []types.KeySchemaElement{{AttributeName: &t.HashKey, KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &t.HashKey, AttributeType: t.HashKeyType}},
	})
	if err != nil {
		return err
	}
	exists := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay = 50 * time.Millisecond
	})
	if err := exists.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, time.Minute); err != nil {
		return err
	}
	_, err = client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               &name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &t.TTL, Enabled: aws.Bool(true)},
	})
	return err
}
