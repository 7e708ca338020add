package dispatchlog

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"sekisho/functions/internal/gateway"
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

// reports of n invocations that took a second.
func reports(n int) (failed []gateway.Report) {
	for i := range n {
		r := gateway.NewReport(at, fmt.Sprintf("i%d", i), "timeout")
		r.Record.Metrics.DurationMs = 1000
		failed = append(failed, r)
	}
	return failed
}

// TestAdmitted reads all pages of the one log group, around the report, and looks again for lines
// that are on their way.
func TestAdmitted(t *testing.T) {
	line := func(i int) string {
		return fmt.Sprintf(`{"message":"{\"invocation\":\"i%d\",\"gate\":\"admission_id=adm_1\"}"}`, i)
	}
	log, asked := logs(t, `{"events":[`+line(1)+`]}`, `{"events":[],"nextToken":"more"}`, `{"events":[`+line(0)+`]}`)
	lines, err := log.Admitted(t.Context(), reports(2))
	if err != nil || len(lines) != 2 || !strings.Contains(lines[0], "i1") || !strings.Contains(lines[1], "i0") {
		t.Fatalf("%q, %v", lines, err)
	}
	first := (*asked)[0]
	if first["logGroupName"] != "/aws/lambda/demo-mcp" || first["filterPattern"] != `{ ($.invocation = "i0" || $.invocation = "i1") && ($.gate = "admission_id=adm_*" || $.gate = "crossed=pct:*") }` ||
		first["startTime"] != float64(at.Add(-11*time.Second).UnixMilli()) || first["endTime"] != float64(at.Add(time.Minute).UnixMilli()) {
		t.Errorf("asked for %v", first)
	}
	if len(*asked) != 3 || (*asked)[1]["filterPattern"] != `{ ($.invocation = "i0") && ($.gate = "admission_id=adm_*" || $.gate = "crossed=pct:*") }` || (*asked)[2]["nextToken"] != "more" {
		t.Errorf("asked %v", *asked)
	}
}

// TestStorm: of many invocations some are asked for at a time, as many as a pattern has room for.
func TestStorm(t *testing.T) {
	log, asked := logs(t, `{"events":[]}`)
	log.Pauses = nil
	if _, err := log.Admitted(t.Context(), reports(40)); err != nil || len(*asked) != 3 {
		t.Errorf("%v after %d looks", err, len(*asked))
	}
	uuids := make([]string, gateway.MostInvocations)
	for i := range uuids {
		uuids[i] = "92d2e165-4df4-454f-b8d5-93531ec816c7"
	}
	if n := len(gateway.AdmittedBy(uuids)); n > 1024 {
		t.Errorf("a pattern of %d characters; CloudWatch takes 1,024", n)
	}
}

// TestNothingAdmitted: an invocation may have failed before it admitted anything.
func TestNothingAdmitted(t *testing.T) {
	log, asked := logs(t, `{"events":[]}`)
	if lines, err := log.Admitted(t.Context(), reports(1)); err != nil || len(lines) != 0 || len(*asked) != 3 {
		t.Errorf("%q, %v after %d looks", lines, err, len(*asked))
	}
	log.Pauses = []time.Duration{time.Hour}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := log.Admitted(ctx, reports(1)); err == nil {
		t.Error("it gave up without an error: settle would take the invocation for settled")
	}
}

// TestFailing: settle fails then, and the report is delivered again.
func TestFailing(t *testing.T) {
	log, _ := logs(t, "")
	if _, err := log.Admitted(t.Context(), reports(1)); err == nil || !strings.Contains(err.Error(), "/aws/lambda/demo-mcp") {
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
