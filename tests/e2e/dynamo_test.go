package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"sekisho/tests/awsfake"
	"sekisho/tests/e2e/suite"
	"sekisho/tests/terraform/stack"
)

// TestDynamo runs the suite against `sekisho up` over DynamoDB, which moto plays.
func TestDynamo(t *testing.T) {
	root, err := stack.Root()
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := awsfake.Start(root)
	if err != nil {
		t.Fatal(err)
	}
	defer cloud.Stop()
	for _, table := range []string{"accounts", "usage"} {
		createTable(t, cloud.Endpoint, "e2e-"+table)
	}
	environment := cloud.Variables()
	plans := fmt.Sprintf(`{%q:%d}`, suite.Plan, suite.Limit)
	store := []string{"--accounts-table", "e2e-accounts", "--usage-table", "e2e-usage", "--plans", plans}
	t.Run("suite", func(t *testing.T) {
		// A hundred calls at once queue in moto, which has one thread: on a slow machine the
		// last of them waits longer than the authorizer's 5 seconds.
		r := binary.Up(t, environment, t.TempDir(), append(store, "--timeout", "authorizer=28s",
			"--publish-per-day", "1000", "--upstream-burst", "1000")...)
		suite.Run(t, suite.Target{
			MCPURL: r.MCPURL, APIURL: r.APIURL, LocalToken: r.LocalToken, Upstream: true, Repeats: 10, Settled: 30 * time.Second,
			Sekisho: binary.On(environment, store...),
		})
	})
}

func createTable(t *testing.T, endpoint, name string) {
	t.Helper()
	client := dynamodb.New(dynamodb.Options{
		Region: awsfake.Region, BaseEndpoint: aws.String(endpoint),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            aws.String(name),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}
}
