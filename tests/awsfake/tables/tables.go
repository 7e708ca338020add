// Package tables makes the two tables of Sekisho's DynamoDB store, for tests. In AWS,
// Terraform makes them; a test of the plan compares both.
package tables

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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
