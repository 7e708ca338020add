package dynamo

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Tables are the names of the two tables.
type Tables struct{ Accounts, Usage string }

//go:embed tables.json
var definitions []byte

// Definition is what the store needs from a table, in the terms of Terraform's
// aws_dynamodb_table.
type Definition struct {
	BillingMode string `json:"billing_mode"`
	HashKey     string `json:"hash_key"`
	Attributes  []struct {
		Name string `json:"name"`
		Type string `json:"type"`
	} `json:"attributes"`
	// TTLAttribute holds the epoch second after which an item may be removed; "" = no TTL.
	TTLAttribute string `json:"ttl_attribute"`
}

// Definitions returns the definitions of tables.json: "accounts" and "usage".
func Definitions() (map[string]Definition, error) {
	var all map[string]Definition
	if err := json.Unmarshal(definitions, &all); err != nil {
		return nil, fmt.Errorf("tables.json: %w", err)
	}
	return all, nil
}

// CreateTables creates both tables and waits until they are ready. It is for tests and
// emulators; in AWS, Terraform creates the tables.
func CreateTables(ctx context.Context, client *dynamodb.Client, names Tables) error {
	all, err := Definitions()
	if err != nil {
		return err
	}
	for kind, name := range map[string]string{"accounts": names.Accounts, "usage": names.Usage} {
		if err := create(ctx, client, name, all[kind]); err != nil {
			return fmt.Errorf("create table %s: %w", name, err)
		}
	}
	return nil
}

func create(ctx context.Context, client *dynamodb.Client, name string, d Definition) error {
	in := &dynamodb.CreateTableInput{
		TableName:   &name,
		BillingMode: types.BillingMode(d.BillingMode),
		KeySchema:   []types.KeySchemaElement{{AttributeName: &d.HashKey, KeyType: types.KeyTypeHash}},
	}
	for _, a := range d.Attributes {
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: &a.Name, AttributeType: types.ScalarAttributeType(a.Type)})
	}
	if _, err := client.CreateTable(ctx, in); err != nil {
		return err
	}
	exists := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) {
		o.MinDelay = 50 * time.Millisecond
	})
	if err := exists.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, time.Minute); err != nil {
		return err
	}
	if d.TTLAttribute == "" {
		return nil
	}
	_, err := client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               &name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &d.TTLAttribute, Enabled: aws.Bool(true)},
	})
	return err
}
