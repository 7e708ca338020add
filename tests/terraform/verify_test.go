package terraform_test

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/budgets"
	budgetstypes "github.com/aws/aws-sdk-go-v2/service/budgets/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/costexplorer"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"sekisho/tests/awsfake"
	"sekisho/tests/terraform/stack"
)

// reach is the configuration of the SDK for an endpoint of the cloud of these tests.
func reach(endpoint string) aws.Config {
	return aws.Config{
		Region:       awsfake.Region,
		BaseEndpoint: aws.String(endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
	}
}

// verify looks at what was applied through the AWS SDK.
func verify(t *testing.T, outputs stack.Outputs) {
	emulator, standIn := reach(cloud.Endpoint), reach(cloud.StandIn)
	t.Run("api", func(t *testing.T) { verifyAPI(t, apigateway.NewFromConfig(emulator), outputs) })
	t.Run("functions", func(t *testing.T) { verifyFunctions(t, lambda.NewFromConfig(emulator), outputs) })
	t.Run("tables", func(t *testing.T) { verifyTables(t, dynamodb.NewFromConfig(emulator), outputs) })
	t.Run("invoke", func(t *testing.T) { verifyInvoke(t, lambda.NewFromConfig(emulator), outputs) })
	t.Run("queues", func(t *testing.T) { verifyQueues(t, lambda.NewFromConfig(emulator), outputs) })
	t.Run("logs", func(t *testing.T) { verifyLogs(t, cloudwatchlogs.NewFromConfig(emulator)) })
	t.Run("alarms", func(t *testing.T) { verifyAlarms(t, outputs) })
	t.Run("live alarm", func(t *testing.T) { verifyLiveAlarm(t, outputs) })
	t.Run("topic", func(t *testing.T) { verifyTopic(t, sns.NewFromConfig(emulator), outputs) })
	t.Run("topic about usage", func(t *testing.T) { verifyUsageTopic(t, sns.NewFromConfig(emulator), outputs) })
	t.Run("budget", func(t *testing.T) { verifyBudget(t, budgets.NewFromConfig(standIn), outputs) })
	t.Run("anomalies", func(t *testing.T) { verifyAnomalies(t, costexplorer.NewFromConfig(standIn), outputs) })
}

func verifyAPI(t *testing.T, client *apigateway.Client, outputs stack.Outputs) {
	stage, err := client.GetStage(t.Context(), &apigateway.GetStageInput{RestApiId: &outputs.Applied.APIID, StageName: &outputs.Applied.Stage})
	must(t, err)
	if got := aws.ToString(stage.AccessLogSettings.Format); got != outputs.Applied.AccessLogFormat {
		t.Errorf("access log: %s, want %s", got, outputs.Applied.AccessLogFormat)
	}
	if !maps.Equal(stage.Variables, outputs.Applied.StageVariables) {
		t.Errorf("stage variables: %v, want %v", stage.Variables, outputs.Applied.StageVariables)
	}
	if got := stage.MethodSettings["*/*"]; got.ThrottlingRateLimit != throttle.RatePerSecond || int(got.ThrottlingBurstLimit) != throttle.Burst || outputs.Applied.Throttle != throttle {
		t.Errorf("throttles: %+v, and as output %+v; want %+v", got, outputs.Applied.Throttle, throttle)
	}

	contract, err := readContract(root)
	must(t, err)
	resources, err := client.GetResources(t.Context(), &apigateway.GetResourcesInput{RestApiId: &outputs.Applied.APIID, Limit: aws.Int32(500), Embed: []string{"methods"}})
	must(t, err)
	served := map[string]bool{}
	for _, resource := range resources.Items {
		for method := range resource.ResourceMethods {
			served[method+" "+aws.ToString(resource.Path)] = true
		}
	}
	want := 0
	for path, item := range contract.Paths {
		for method := range item {
			want++
			name := verb(method) + " " + path
			if !served[name] && !(verb(method) == "ANY" && served["X-AMAZON-APIGATEWAY-ANY-METHOD "+path]) {
				t.Errorf("%s was not applied; there are %v", name, slices.Sorted(maps.Keys(served)))
			}
		}
	}
	if len(served) != want {
		t.Errorf("%d routes were applied, the contract has %d: %v", len(served), want, slices.Sorted(maps.Keys(served)))
	}
}

func verifyFunctions(t *testing.T, client *lambda.Client, outputs stack.Outputs) {
	names, err := stack.Functions(root)
	must(t, err)
	names = slices.DeleteFunc(names, func(name string) bool { return name == "oauth" && outputs.OAuthURL == "" })
	if got := slices.Sorted(maps.Keys(outputs.Applied.Functions)); !slices.Equal(got, names) {
		t.Errorf("functions: %v, want %v", got, names)
	}
	for role, want := range outputs.Applied.Functions {
		got, err := client.GetFunctionConfiguration(t.Context(), &lambda.GetFunctionConfigurationInput{FunctionName: aws.String("sekisho-dev-" + role)})
		must(t, err)
		if int(*got.MemorySize) != want.MemoryMB || int(*got.Timeout) != want.TimeoutSeconds || string(got.Architectures[0]) != want.Architecture || !maps.Equal(got.Environment.Variables, want.Environment) {
			t.Errorf("%s runs with %d MB, %d s, %v, %v; want %+v", role, *got.MemorySize, *got.Timeout, got.Architectures, got.Environment.Variables, want)
		}
		if got.Runtime != "provided.al2023" || aws.ToString(got.Handler) != "bootstrap" {
			t.Errorf("%s: runtime %s, handler %s", role, got.Runtime, aws.ToString(got.Handler))
		}
		reserved, err := client.GetFunctionConcurrency(t.Context(), &lambda.GetFunctionConcurrencyInput{FunctionName: got.FunctionName})
		must(t, err)
		if n := reserved.ReservedConcurrentExecutions; (n == nil) != (want.ReservedConcurrency == -1) || n != nil && int(*n) != want.ReservedConcurrency {
			t.Errorf("%s: reserved concurrency %v, want %d", role, n, want.ReservedConcurrency)
		}
	}
}

// verifyInvoke: on whose behalf the gateway and the log may start functions. Without it any
// account could start settle with failures that never happened.
func verifyInvoke(t *testing.T, client *lambda.Client, outputs stack.Outputs) {
	api := fmt.Sprintf("arn:aws:execute-api:us-east-1:%s:%s/", awsfake.AccountID, outputs.Applied.APIID)
	for role, function := range outputs.Applied.Functions {
		if role == "brake" {
			continue // verifyBrakePermission
		}
		want := map[string]string{
			"authorizer": api + "authorizers/*",
			"settle":     fmt.Sprintf("arn:aws:logs:us-east-1:%s:log-group:/aws/apigateway/sekisho-dev/live/access:*", awsfake.AccountID),
		}[role]
		want = cmp.Or(want, api+"*/*/*")
		got, err := client.GetPolicy(t.Context(), &lambda.GetPolicyInput{FunctionName: &function.Name, Qualifier: aws.String("live")})
		must(t, err)
		var policy struct {
			Statement []struct {
				Effect    string
				Condition map[string]map[string]string
			}
		}
		must(t, json.Unmarshal([]byte(aws.ToString(got.Policy)), &policy))
		if len(policy.Statement) != 1 || policy.Statement[0].Effect != "Allow" || policy.Statement[0].Condition["ArnLike"]["AWS:SourceArn"] != want {
			t.Errorf("%s may be started by %s, want %s alone", role, aws.ToString(got.Policy), want)
		}
	}
}

// verifyQueues: where events end that their function could not handle.
func verifyQueues(t *testing.T, client *lambda.Client, outputs stack.Outputs) {
	for role, function := range outputs.Applied.Functions {
		alias := aws.String("live")
		if role == "brake" {
			alias = nil
		}
		got, err := client.GetFunctionEventInvokeConfig(t.Context(), &lambda.GetFunctionEventInvokeConfigInput{FunctionName: &function.Name, Qualifier: alias})
		if !asynchronous[role] {
			if err == nil {
				t.Errorf("%s has a destination for failed events: %+v", role, got.DestinationConfig)
			}
			continue
		}
		must(t, err)
		want := fmt.Sprintf("arn:aws:sqs:us-east-1:%s:%s-undelivered", awsfake.AccountID, function.Name)
		if on := got.DestinationConfig.OnFailure; on == nil || aws.ToString(on.Destination) != want {
			t.Errorf("what %s could not handle goes to %+v, want %s", role, on, want)
		}
	}
}

func verifyTables(t *testing.T, client *dynamodb.Client, outputs stack.Outputs) {
	for _, name := range outputs.Tables {
		got, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &name})
		must(t, err)
		if keys := got.Table.KeySchema; len(keys) != 1 || aws.ToString(keys[0].AttributeName) != "pk" {
			t.Errorf("%s: key %v, want pk alone", name, keys)
		}
		if status := got.Table.SSEDescription; status == nil || status.Status != "ENABLED" {
			t.Errorf("%s is not encrypted with the account's key: %+v", name, status)
		}
		ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &name})
		must(t, err)
		if attribute := aws.ToString(ttl.TimeToLiveDescription.AttributeName); attribute != "expires_at" {
			t.Errorf("%s expires by %q, want expires_at", name, attribute)
		}
	}
}

func verifyLogs(t *testing.T, client *cloudwatchlogs.Client) {
	group := "/aws/apigateway/sekisho-dev/live/access"
	filters, err := client.DescribeSubscriptionFilters(t.Context(), &cloudwatchlogs.DescribeSubscriptionFiltersInput{LogGroupName: &group})
	must(t, err)
	if len(filters.SubscriptionFilters) != 1 {
		t.Fatalf("the access log has %d subscriptions, want 1", len(filters.SubscriptionFilters))
	}
	if got := aws.ToString(filters.SubscriptionFilters[0].DestinationArn); !strings.HasSuffix(got, ":function:sekisho-dev-settle:live") {
		t.Errorf("the access log goes to %s, want settle", got)
	}
	groups, err := client.DescribeLogGroups(t.Context(), &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: aws.String("/aws/")})
	must(t, err)
	for _, g := range groups.LogGroups {
		if strings.Contains(aws.ToString(g.LogGroupName), "sekisho-dev") && aws.ToInt32(g.RetentionInDays) != 7 {
			t.Errorf("%s is kept %d days, want 7", aws.ToString(g.LogGroupName), aws.ToInt32(g.RetentionInDays))
		}
	}
}

func verifyAlarms(t *testing.T, outputs stack.Outputs) {
	var alarms struct {
		Alarms []struct {
			Name    string   `xml:"AlarmName"`
			Actions []string `xml:"AlarmActions>member"`
			Over    []string `xml:"OKActions>member"`
		} `xml:"DescribeAlarmsResult>MetricAlarms>member"`
	}
	askCloudWatch(t, url.Values{"Action": {"DescribeAlarms"}, "AlarmNamePrefix": {"sekisho-dev-"}}, &alarms)
	want := []string{"sekisho-dev-failures", "sekisho-dev-latency", "sekisho-dev-refusals", "sekisho-dev-spend-average", "sekisho-dev-spend-rate"}
	for role := range outputs.Applied.Functions {
		want = append(want, fmt.Sprintf("sekisho-dev-%s-errors", role), fmt.Sprintf("sekisho-dev-%s-throttles", role))
		if asynchronous[role] {
			want = append(want, fmt.Sprintf("sekisho-dev-%s-undelivered", role))
		}
	}
	var have []string
	for _, alarm := range alarms.Alarms {
		have = append(have, alarm.Name)
		// Dollars are finance's, and what somebody can mend is operations'.
		topic := []string{outputs.OperationsARN}
		if slices.Contains(outputs.LiveAlarm.Names, alarm.Name) {
			topic = []string{outputs.TopicARN}
		}
		if !slices.Equal(alarm.Actions, topic) || !slices.Equal(alarm.Over, topic) {
			t.Errorf("%s notifies %v, and when it is over %v; want %v", alarm.Name, alarm.Actions, alarm.Over, topic)
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("alarms: %v, want %v", have, want)
	}

	var dashboard struct {
		Body string `xml:"GetDashboardResult>DashboardBody"`
	}
	askCloudWatch(t, url.Values{"Action": {"GetDashboard"}, "DashboardName": {outputs.DashboardName}}, &dashboard)
	for role := range outputs.Applied.Functions {
		if !strings.Contains(dashboard.Body, `"sekisho-dev-`+role+`"`) {
			t.Errorf("the dashboard does not show %s", role)
		}
	}
}

// verifyLiveAlarm: the alarm on dollars as CloudWatch has it, each metric and the expression
// that it watches. (TestMoney evaluates the same expressions out of the plan.)
func verifyLiveAlarm(t *testing.T, outputs stack.Outputs) {
	var answer struct {
		Alarms []struct {
			Threshold   float64 `xml:"Threshold"`
			Of          int     `xml:"EvaluationPeriods"`
			Datapoints  int     `xml:"DatapointsToAlarm"`
			MissingData string  `xml:"TreatMissingData"`
			Comparison  string  `xml:"ComparisonOperator"`
			Queries     []struct {
				ID         string `xml:"Id"`
				Expression string `xml:"Expression"`
				Watched    bool   `xml:"ReturnData"`
				Stat       struct {
					Namespace  string   `xml:"Metric>Namespace"`
					Name       string   `xml:"Metric>MetricName"`
					Dimensions []string `xml:"Metric>Dimensions>member>Value"`
					Period     int      `xml:"Period"`
					Stat       string   `xml:"Stat"`
				} `xml:"MetricStat"`
			} `xml:"Metrics>member"`
		} `xml:"DescribeAlarmsResult>MetricAlarms>member"`
	}
	if want := []string{"sekisho-dev-spend-average", "sekisho-dev-spend-rate"}; !slices.Equal(slices.Sorted(slices.Values(outputs.LiveAlarm.Names)), want) {
		t.Errorf("the live alarms are %q, want %q", outputs.LiveAlarm.Names, want)
	}
	askCloudWatch(t, url.Values{"Action": {"DescribeAlarms"}, "AlarmNames.member.1": {"sekisho-dev-spend-rate"}}, &answer)
	if len(answer.Alarms) != 1 {
		t.Fatalf("%d alarms, want one", len(answer.Alarms))
	}
	// 25 dollars a month, in 72 hours.
	a := answer.Alarms[0]
	if a.Threshold != 0.3473 || a.Threshold != outputs.LiveAlarm.USDPerHour || a.Of != 5 || a.Datapoints != 3 || a.MissingData != "notBreaching" || a.Comparison != "GreaterThanThreshold" {
		t.Errorf("it trips at %v, %d of %d minutes, missing data %s, %s", a.Threshold, a.Datapoints, a.Of, a.MissingData, a.Comparison)
	}
	var metrics []string
	for _, q := range a.Queries {
		if q.Watched != (q.ID == "usd_per_hour") {
			t.Errorf("%s is watched: %v", q.ID, q.Watched)
		}
		if q.Expression != "" {
			continue
		}
		slices.Sort(q.Stat.Dimensions) // moto keeps the order of the request, which the provider does not
		metrics = append(metrics, fmt.Sprintf("%s %s %s %v", q.Stat.Stat, q.Stat.Namespace, q.Stat.Name, q.Stat.Dimensions))
		if q.Stat.Period != 60 {
			t.Errorf("%s is over %d s, want 60", q.ID, q.Stat.Period)
		}
	}
	slices.Sort(metrics)
	want := []string{
		"SampleCount AWS/ApiGateway IntegrationLatency [live sekisho-dev]",
		"Sum AWS/ApiGateway Count [live sekisho-dev]", "Sum AWS/ApiGateway IntegrationLatency [live sekisho-dev]",
		"Sum AWS/DynamoDB ConsumedReadCapacityUnits [sekisho-dev-accounts]", "Sum AWS/DynamoDB ConsumedReadCapacityUnits [sekisho-dev-usage]",
		"Sum AWS/DynamoDB ConsumedWriteCapacityUnits [sekisho-dev-accounts]", "Sum AWS/DynamoDB ConsumedWriteCapacityUnits [sekisho-dev-usage]",
		"Sum AWS/Lambda Duration [sekisho-dev-authorizer]", "Sum AWS/Lambda Duration [sekisho-dev-settle]",
		"Sum AWS/Lambda Invocations [sekisho-dev-authorizer]",
	}
	if !slices.Equal(metrics, want) {
		t.Errorf("it reads %q, want %q", metrics, want)
	}
}

// askCloudWatch speaks CloudWatch's older protocol by hand: the SDK speaks only the newer
// one by now, which moto 5.2.1 does not answer.
func askCloudWatch(t *testing.T, question url.Values, answer any) {
	t.Helper()
	question.Set("Version", "2010-08-01")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, cloud.Endpoint+"/", strings.NewReader(question.Encode()))
	must(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20200101/"+awsfake.Region+"/monitoring/aws4_request, SignedHeaders=host, Signature=0")
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	must(t, err)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("CloudWatch %s: %s: %s", question.Get("Action"), response.Status, raw)
	}
	must(t, xml.Unmarshal(raw, answer))
}

func verifyTopic(t *testing.T, client *sns.Client, outputs stack.Outputs) {
	topic, err := client.GetTopicAttributes(t.Context(), &sns.GetTopicAttributesInput{TopicArn: &outputs.TopicARN})
	must(t, err)
	if topic.Attributes["KmsMasterKeyId"] == "" {
		t.Error("the topic is not encrypted")
	}
}

// verifyUsageTopic: settle is told the topic that exists, and each subscription is there.
func verifyUsageTopic(t *testing.T, client *sns.Client, outputs stack.Outputs) {
	if told := outputs.Applied.Functions["settle"].Environment["SEKISHO_USAGE_TOPIC_ARN"]; told != outputs.UsageTopicARN || told == outputs.TopicARN {
		t.Errorf("settle publishes to %s, want %s", told, outputs.UsageTopicARN)
	}
	topic, err := client.GetTopicAttributes(t.Context(), &sns.GetTopicAttributesInput{TopicArn: &outputs.UsageTopicARN})
	must(t, err)
	if topic.Attributes["KmsMasterKeyId"] == "" {
		t.Error("the topic is not encrypted")
	}
	list, err := client.ListSubscriptionsByTopic(t.Context(), &sns.ListSubscriptionsByTopicInput{TopicArn: &outputs.UsageTopicARN})
	must(t, err)
	var have []string
	for _, s := range list.Subscriptions {
		have = append(have, aws.ToString(s.Protocol)+" "+aws.ToString(s.Endpoint))
	}
	slices.Sort(have)
	if want := []string{"email support@example.com", "https https://hooks.example.com/usage", "sqs arn:aws:sqs:us-east-1:123456789012:usage"}; !slices.Equal(have, want) {
		t.Errorf("subscriptions: %q, want %q", have, want)
	}
}

func verifyBudget(t *testing.T, client *budgets.Client, outputs stack.Outputs) {
	which := &budgets.DescribeBudgetInput{AccountId: aws.String(awsfake.AccountID), BudgetName: aws.String("sekisho-dev-monthly")}
	budget, err := client.DescribeBudget(t.Context(), which)
	must(t, err)
	if limit := budget.Budget.BudgetLimit; aws.ToString(limit.Unit) != "USD" || !slices.Contains([]string{"25", "25.0"}, aws.ToString(limit.Amount)) {
		t.Errorf("limit: %s %s, want 25 USD", aws.ToString(limit.Amount), aws.ToString(limit.Unit))
	}
	//lint:ignore SA1019 Terraform's provider sends the filter in this field
	if filter := budget.Budget.CostFilters["TagKeyValue"]; !slices.Equal(filter, []string{"user:sekisho-stack$sekisho-dev"}) {
		t.Errorf("the budget counts %v", filter)
	}
	notifications, err := client.DescribeNotificationsForBudget(t.Context(), &budgets.DescribeNotificationsForBudgetInput{AccountId: which.AccountId, BudgetName: which.BudgetName})
	must(t, err)
	var have []string
	for _, n := range notifications.Notifications {
		have = append(have, fmt.Sprintf("%s %g", n.NotificationType, n.Threshold))
		verifySubscribers(t, client, which, n, outputs.TopicARN)
	}
	slices.Sort(have)
	if want := []string{"ACTUAL 100", "ACTUAL 120", "ACTUAL 150", "ACTUAL 200", "ACTUAL 50", "ACTUAL 80", "FORECASTED 100"}; !slices.Equal(have, want) {
		t.Errorf("notifications: %v, want %v", have, want)
	}
}

func verifySubscribers(t *testing.T, client *budgets.Client, which *budgets.DescribeBudgetInput, n budgetstypes.Notification, topic string) {
	t.Helper()
	subscribers, err := client.DescribeSubscribersForNotification(t.Context(), &budgets.DescribeSubscribersForNotificationInput{
		AccountId: which.AccountId, BudgetName: which.BudgetName, Notification: &n,
	})
	must(t, err)
	var have []string
	for _, s := range subscribers.Subscribers {
		have = append(have, string(s.SubscriptionType)+" "+aws.ToString(s.Address))
	}
	slices.Sort(have)
	if want := []string{"EMAIL finance@example.com", "SNS " + topic}; !slices.Equal(have, want) {
		t.Errorf("%s %g tells %v, want %v", n.NotificationType, n.Threshold, have, want)
	}
}

func verifyAnomalies(t *testing.T, client *costexplorer.Client, outputs stack.Outputs) {
	got, err := client.GetAnomalySubscriptions(t.Context(), &costexplorer.GetAnomalySubscriptionsInput{})
	must(t, err)
	if len(got.AnomalySubscriptions) != 1 {
		t.Fatalf("there are %d anomaly subscriptions, want 1", len(got.AnomalySubscriptions))
	}
	s := got.AnomalySubscriptions[0]
	if s.Frequency != "IMMEDIATE" || len(s.Subscribers) != 1 || aws.ToString(s.Subscribers[0].Address) != outputs.TopicARN {
		t.Errorf("anomalies are told %s to %+v, want at once, to the topic", s.Frequency, s.Subscribers)
	}
	if d := s.ThresholdExpression.Dimensions; d == nil || d.Key != "ANOMALY_TOTAL_IMPACT_ABSOLUTE" || !slices.Equal(d.Values, []string{"5"}) {
		t.Errorf("anomalies are told from %+v, want an impact of 5 dollars", d)
	}
}

// verifyGone asks AWS, not the state.
func verifyGone(t *testing.T) {
	emulator := reach(cloud.Endpoint)
	functions, err := lambda.NewFromConfig(emulator).ListFunctions(t.Context(), &lambda.ListFunctionsInput{})
	must(t, err)
	tables, err := dynamodb.NewFromConfig(emulator).ListTables(t.Context(), &dynamodb.ListTablesInput{})
	must(t, err)
	apis, err := apigateway.NewFromConfig(emulator).GetRestApis(t.Context(), &apigateway.GetRestApisInput{})
	must(t, err)
	topics, err := sns.NewFromConfig(emulator).ListTopics(t.Context(), &sns.ListTopicsInput{})
	must(t, err)
	groups, err := cloudwatchlogs.NewFromConfig(emulator).DescribeLogGroups(t.Context(), &cloudwatchlogs.DescribeLogGroupsInput{})
	must(t, err)
	for what, n := range map[string]int{
		"functions": len(functions.Functions), "tables": len(tables.TableNames), "APIs": len(apis.Items),
		"topics": len(topics.Topics), "log groups": len(groups.LogGroups),
	} {
		if n != 0 {
			t.Errorf("%d %s are left", n, what)
		}
	}
}
