package dispatchlog

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
)

// logs is a CloudWatch Logs that answers one after the other.
func logs(t *testing.T, answers ...string) (*Log, *[]map[string]any) {
	t.Helper()
	asked := &[]map[string]any{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in map[string]any
		if err := json.Unmarshal(body, &in); err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".FilterLogEvents") {
			t.Errorf("%s: %s", r.Header.Get("X-Amz-Target"), body)
		}
		answer := answers[min(len(*asked), len(answers)-1)]
		*asked = append(*asked, in)
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		if answer == "" {
			w.WriteHeader(http.StatusBadRequest)
			answer = `{"__type":"ResourceNotFoundException","message":"no such group"}`
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	client := cloudwatchlogs.New(cloudwatchlogs.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	return &Log{Client: client, Group: "/aws/lambda/demo-mcp", Pauses: []time.Duration{time.Millisecond, time.Millisecond}}, asked
}

var at = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// TestAdmitted reads all pages of the one log group, around the report, and looks again for lines
// that are on their way.
func TestAdmitted(t *testing.T) {
	log, asked := logs(t, `{"events":[]}`, `{"events":[{"message":"one"}],"nextToken":"more"}`, `{"events":[{"message":"two"}]}`)
	lines, err := log.Admitted(t.Context(), "4066a7da-f102", at)
	if err != nil || strings.Join(lines, " ") != "one two" {
		t.Fatalf("%q, %v", lines, err)
	}
	first := (*asked)[0]
	if first["logGroupName"] != "/aws/lambda/demo-mcp" || first["filterPattern"] != `{ $.invocation = "4066a7da-f102" && $.admission_id = "adm_*" }` ||
		first["startTime"] != float64(at.Add(-16*time.Minute).UnixMilli()) || first["endTime"] != float64(at.Add(time.Minute).UnixMilli()) {
		t.Errorf("asked for %v", first)
	}
	if len(*asked) != 3 || (*asked)[2]["nextToken"] != "more" {
		t.Errorf("asked %v", *asked)
	}
}

// TestNothingAdmitted: an invocation may have failed before it admitted anything.
func TestNothingAdmitted(t *testing.T) {
	log, asked := logs(t, `{"events":[]}`)
	if lines, err := log.Admitted(t.Context(), "i", at); err != nil || len(lines) != 0 || len(*asked) != 3 {
		t.Errorf("%q, %v after %d looks", lines, err, len(*asked))
	}
	log.Pauses = []time.Duration{time.Hour}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := log.Admitted(ctx, "i", at); err == nil {
		t.Error("it gave up without an error: settle would take the invocation for settled")
	}
}

// TestFailing: settle fails then, and the report is delivered again.
func TestFailing(t *testing.T) {
	log, _ := logs(t, "")
	if _, err := log.Admitted(t.Context(), "i", at); err == nil || !strings.Contains(err.Error(), "/aws/lambda/demo-mcp") {
		t.Error(err)
	}
}

func TestFromEnv(t *testing.T) {
	env := map[string]string{}
	if log, err := FromEnv(func(name string) string { return env[name] }, "GROUP"); log != nil || err != nil {
		t.Errorf("without a group: %v, %v", log, err)
	}
	env = map[string]string{"GROUP": "/aws/lambda/demo-mcp", "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"}
	if log, err := FromEnv(func(name string) string { return env[name] }, "GROUP"); err != nil || log.Group != env["GROUP"] {
		t.Errorf("%v, %v", log, err)
	}
}
