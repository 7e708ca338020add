package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"sekisho/tests/awsfake"
	"sekisho/tests/awsfake/moto"
	"sekisho/tests/awsfake/tables"
	"sekisho/tests/e2e/suite"
)

// TestDynamo runs the suite against `sekisho up` over DynamoDB, emulated by moto. How the store counts
// under concurrency is shown where it is: in package dynamo, many times.
func TestDynamo(t *testing.T) {
	t.Parallel()
	cloud, err := awsfake.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cloud.Stop) // after the service, which is cleaned up too
	client := dynamodb.NewFromConfig(moto.Config(cloud.Endpoint))
	if err := tables.Create(t.Context(), client, "e2e-accounts", "e2e-usage"); err != nil {
		t.Fatal(err)
	}
	environment := cloud.Variables()
	plans := fmt.Sprintf(`{%q:%d}`, suite.Plan, suite.Limit)
	store := []string{"--accounts-table", "e2e-accounts", "--usage-table", "e2e-usage", "--plans", plans}
	// A hundred calls at once queue in moto, which has one thread: on a slow machine the last of
	// them waits longer than the authorizer's 5 seconds.
	r := binary.Up(t, environment, t.TempDir(), append(store, "--timeout", "authorizer=28s",
		"--per-day", "external.publish_content=1000", "--backend-rate", "1000", "--backend-burst", "1000")...)
	suite.Run(t, suite.Target{
		MCPURL: r.MCPURL, APIURL: r.APIURL, LocalToken: r.LocalToken, Upstream: true, Repeats: 1, Settled: 30 * time.Second,
		Sekisho: binary.On(environment, store...),
	})
}
