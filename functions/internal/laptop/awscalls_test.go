package laptop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"sekisho/functions/internal/boot"
	"sekisho/tests/awsfake/moto"
)

// awsCalls stands between the functions and AWS, and notes what each calls. DynamoDB is moto's; of the
// rest it has what the functions need. Each function has an access key of its own, which is its name.
type awsCalls struct {
	t      *testing.T
	url    string
	dynamo string

	mu    sync.Mutex
	calls map[string][]string
	// forgetful: a failed condition doesn't bring back the old item, as happens in AWS
	// (github.com/aws/aws-sdk-go-v2/issues/2600).
	forgetful bool
	// refusals is how many messages SNS refuses.
	refusals int
	// admitted is the line that logs have about any invocation.
	admitted string
	// busy: no function has an instance left.
	busy bool
	// invoke runs a function of the service by its name there.
	invoke func(function string, payload []byte, limit time.Duration) ([]byte, error)
	// ceilings is the reserved concurrency of functions, for those that have any.
	ceilings map[string]int
}

// operator is the access key of the test itself, whose calls are nobody's.
const operator = "operator"

func recordAWS(t *testing.T, dynamo string) *awsCalls {
	a := &awsCalls{t: t, dynamo: dynamo, calls: map[string][]string{}, ceilings: map[string]int{}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.url = server.URL
	return a
}

// env is what Lambda adds to the environment of a function.
func (a *awsCalls) env(function string) map[string]string {
	return map[string]string{
		"AWS_REGION": moto.Region, "AWS_ACCESS_KEY_ID": function, "AWS_SECRET_ACCESS_KEY": "secret", "AWS_ENDPOINT_URL": a.url,
		boot.AccountsTable: "sekisho-dev-accounts", boot.UsageTable: "sekisho-dev-usage",
	}
}

// set changes what AWS does.
func (a *awsCalls) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

// note keeps a call: the right that it takes, the resource as IAM names it behind the account, and of
// DynamoDB the kind of item.
func (a *awsCalls) note(function, format string, args ...any) {
	call := fmt.Sprintf(format, args...)
	if function == operator || slices.Contains(a.calls[function], call) {
		return
	}
	a.calls[function] = append(a.calls[function], call)
	slices.Sort(a.calls[function])
}

var signedBy = regexp.MustCompile(`Credential=([^/]+)/[^/]+/[^/]+/([^/]+)/`)

func (a *awsCalls) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	by := signedBy.FindStringSubmatch(r.Header.Get("Authorization"))
	body, err := io.ReadAll(r.Body)
	if by == nil || err != nil {
		a.t.Errorf("%s %s: not signed, or cut off: %v", r.Method, r.URL, err)
		http.Error(w, "{}", http.StatusForbidden)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	function, service := by[1], by[2]
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var in map[string]any
	_ = json.Unmarshal(body, &in) // or it is a form
	switch service {
	case "dynamodb":
		a.noteItems(function, operation, body)
		a.pass(w, r, body)
	case "ssm":
		name, _ := in["Name"].(string)
		a.note(function, "ssm:%s parameter/%s", operation, strings.TrimPrefix(name, "/"))
		if secret, ok := strings.CutPrefix(name, "/aws/reference/secretsmanager/"); ok { // SSM reads it in the caller's name
			a.note(function, "secretsmanager:GetSecretValue secret:%s", secret)
		}
		fmt.Fprintf(w, `{"Version":1,"Parameter":{"Name":%q,"Value":"open"}}`, name)
	case "logs":
		a.note(function, "logs:%s log-group:%s:*", operation, in["logGroupName"])
		fmt.Fprintf(w, `{"events":[{"message":%q}]}`, a.admitted)
	case "lambda":
		a.lambda(w, r, function, body)
	case "apigateway":
		a.note(function, "apigateway:%s %s", r.Method, r.URL.Path)
		fmt.Fprint(w, `{"variables":{}}`)
	default:
		a.query(w, r, function, service, operation, body)
	}
}

// query answers what takes forms and gives XML.
func (a *awsCalls) query(w http.ResponseWriter, r *http.Request, function, service, operation string, body []byte) {
	form, _ := url.ParseQuery(string(body))
	switch {
	case service == "sns" && form.Get("Action") == "Publish":
		a.note(function, "sns:Publish %s", strings.TrimPrefix(form.Get("TopicArn"), "arn:aws:sns:us-east-1:123456789012:"))
		w.Header().Set("Content-Type", "text/xml")
		if a.refusals > 0 {
			a.refusals--
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<ErrorResponse><Error><Code>AuthorizationError</Code></Error></ErrorResponse>`)
			return
		}
		fmt.Fprint(w, `<PublishResponse><PublishResult><MessageId>1</MessageId></PublishResult></PublishResponse>`)
	case service == "monitoring" && form.Get("Action") == "SetAlarmState":
		a.note(function, "cloudwatch:SetAlarmState alarm:%s", form.Get("AlarmName"))
		w.Header().Set("Content-Type", "text/xml")
		fmt.Fprint(w, `<SetAlarmStateResponse/>`)
	default:
		a.t.Errorf("%s makes a call that this double doesn't know: %s %s %s %q", function, service, operation, r.URL, body)
		http.Error(w, "{}", http.StatusForbidden)
	}
}

// lambda invokes the functions of the service, and changes the ceilings of any.
func (a *awsCalls) lambda(w http.ResponseWriter, r *http.Request, function string, body []byte) {
	parts := strings.Split(r.URL.Path, "/")
	name := parts[3]
	if parts[4] == "invocations" {
		a.note(function, "lambda:InvokeFunction function:%s", strings.TrimPrefix(name, "arn:aws:lambda:us-east-1:123456789012:function:"))
		if a.busy {
			w.Header().Set("X-Amzn-Errortype", "TooManyRequestsException")
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, "{}")
			return
		}
		own, _, _ := strings.Cut(strings.TrimPrefix(name, "sekisho-dev-"), ":")
		invoke := a.invoke
		a.mu.Unlock() // the function calls AWS, too
		answer, err := invoke(own, body, 0)
		a.mu.Lock()
		if err != nil {
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
		}
		_, _ = w.Write(answer)
		return
	}
	a.note(function, "lambda:%sFunctionConcurrency function:%s", map[string]string{"GET": "Get", "PUT": "Put", "DELETE": "Delete"}[r.Method], name)
	switch r.Method {
	case http.MethodPut:
		var in struct{ ReservedConcurrentExecutions int }
		_ = json.Unmarshal(body, &in)
		a.ceilings[name] = in.ReservedConcurrentExecutions
	case http.MethodDelete:
		delete(a.ceilings, name)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if n, ok := a.ceilings[name]; ok {
		fmt.Fprint(w, `{"ReservedConcurrentExecutions":`+strconv.Itoa(n)+`}`)
		return
	}
	fmt.Fprint(w, "{}")
}

// aWrite is what the operations of DynamoDB have in common.
type aWrite struct {
	TableName string
	Key, Item struct {
		PK struct{ S string } `json:"pk"`
	}
}

func (a *awsCalls) noteItem(function, operation, table, pk string) {
	kind, _, ok := strings.Cut(pk, "#")
	if !ok {
		a.t.Errorf("%s: %s of %s, whose key has no kind", function, operation, pk)
	}
	a.note(function, "dynamodb:%s table/%s %s#", operation, table, kind)
}

// noteItems takes a transaction apart: it needs the rights of its parts.
func (a *awsCalls) noteItems(function, operation string, body []byte) {
	var in struct {
		aWrite
		TransactItems []map[string]aWrite
		RequestItems  map[string]struct {
			Keys []struct {
				PK struct{ S string } `json:"pk"`
			}
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		a.t.Errorf("%s: %s: %v", function, operation, err)
	}
	switch operation {
	case "TransactWriteItems":
		for _, item := range in.TransactItems {
			for kind, write := range item {
				a.noteItem(function, kind+"Item", write.TableName, write.Key.PK.S+write.Item.PK.S)
			}
		}
	case "BatchGetItem":
		for table, batch := range in.RequestItems {
			for _, key := range batch.Keys {
				a.noteItem(function, operation, table, key.PK.S)
			}
		}
	case "GetItem", "PutItem", "UpdateItem", "DeleteItem":
		a.noteItem(function, operation, in.TableName, in.Key.PK.S+in.Item.PK.S)
	default: // such as Scan, whose items no condition could name
		a.note(function, "dynamodb:%s table/%s", operation, in.TableName)
	}
}

// pass hands a request on to moto.
func (a *awsCalls) pass(w http.ResponseWriter, r *http.Request, body []byte) {
	out, err := http.NewRequestWithContext(r.Context(), r.Method, a.dynamo+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		a.t.Error(err)
		return
	}
	out.Header = r.Header.Clone()
	out.Header.Del("Accept-Encoding")
	answer, err := http.DefaultClient.Do(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	if a.forgetful && answer.StatusCode == http.StatusBadRequest {
		text = withoutItems(text)
	}
	w.Header().Set("X-Amzn-Errortype", answer.Header.Get("X-Amzn-Errortype"))
	w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(text)
}

// withoutItems takes the old items off an error.
func withoutItems(text []byte) []byte {
	var failure map[string]any
	if json.Unmarshal(text, &failure) != nil {
		return text
	}
	delete(failure, "Item")
	reasons, _ := failure["CancellationReasons"].([]any)
	for _, reason := range reasons {
		if r, ok := reason.(map[string]any); ok {
			delete(r, "Item")
		}
	}
	text, _ = json.Marshal(failure)
	return text
}
