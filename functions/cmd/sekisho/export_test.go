package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/grant"
	"sekisho/tests/midnight"
)

var update = flag.Bool("update", false, "write the files that these tests compare with")

// running is `sekisho up` in this process.
type running struct {
	t    *testing.T
	base string
	keys map[string]string
	stop func()
}

// startUp runs `sekisho up` until stop, which waits for outstanding refunds.
func startUp(t *testing.T, args ...string) *running {
	t.Helper()
	midnight.Avoid(t, 30*time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	var errs bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, append([]string{"up", "--json", "--listen", "127.0.0.1:0"}, args...), streams{write, &errs, os.Getenv})
		write.Close()
		ended <- code
	}()
	line, err := bufio.NewReader(read).ReadBytes('\n')
	if err != nil {
		cancel()
		t.Fatalf("up: %v: exit code %d: %s", err, <-ended, errs.String())
	}
	go io.Copy(io.Discard, read)
	var ready struct {
		APIURL string            `json:"api_url"`
		Keys   map[string]string `json:"keys"`
	}
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case code := <-ended:
			if code != exitOK {
				t.Errorf("up ended with %d: %s", code, errs.String())
			}
		case <-time.After(time.Minute):
			t.Error("up did not end")
		}
	}
	t.Cleanup(stop)
	return &running{t: t, base: ready.APIURL, keys: ready.Keys, stop: stop}
}

// get makes a REST call and expects a status; tool makes a call over MCP and expects a text.
func (r *running) get(key, path string, status int) {
	r.t.Helper()
	got, body := r.send("GET", path, key, "")
	if got != status {
		r.t.Fatalf("GET %s: %d %s, want %d", path, got, body, status)
	}
}

func (r *running) tool(key, name, arguments, says string) {
	r.t.Helper()
	_, body := r.send("POST", "/mcp", key, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}`)
	if !strings.Contains(body, says) {
		r.t.Fatalf("%s: %s, want %q", name, body, says)
	}
}

func (r *running) send(method, path, key, body string) (int, string) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.base+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	request.Header.Set("x-api-key", key)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return response.StatusCode, string(content)
}

// formula is a name that a spreadsheet would run.
const formula = `=HYPERLINK("http://example.com","x")`

// traffic makes a month with several keys and tools: successes, refunded failures, and denials
// over both MCP and REST.
func traffic(t *testing.T, data string) {
	t.Helper()
	up := startUp(t, "--data", data, "--plan", "demo=3", "--plan", "pro=100")
	out, errs, code := sekisho(t, "keys", "create", "--data", data, "--user", "zoe", "--plan", "pro", "--name", formula, "--json")
	var zoe struct{ Key string }
	if code != exitOK || json.Unmarshal([]byte(out), &zoe) != nil {
		t.Fatalf("keys create: %d %s%s", code, out, errs)
	}
	st, err := storeFlags{Data: data}.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Assistant", "Assistant", formula} {
		if _, err := signIn(t.Context(), st, "zoe", grant.Client{Name: name, Host: "app.example"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.close(); err != nil {
		t.Fatal(err)
	}
	demo, pro := up.keys["demo"], up.keys["pro"]
	up.get(demo, "/v1/postal/100-0001", 200)
	up.get(demo, "/v1/postal/100-0001", 200)
	up.tool(demo, "postal.lookup", `{"postal_code":"100-0001"}`, "千代田")
	up.tool(demo, "calendar.holidays", `{"year":2026}`, "limit_exceeded")
	up.tool(demo, "calendar.holidays", `{"year":2026}`, "limit_exceeded")
	up.get(demo, "/v1/postal/100-0001", 429)
	up.get(pro, "/v1/calendar/holidays?year=2026", 200)
	up.get(pro, "/v1/postal/000-0000", 404)
	up.tool(pro, "postal.lookup", `{"postal_code":"000-0000"}`, "not_found")
	up.get(pro, "/v1/user/usage", 200)
	up.get("sekisho_wrong", "/v1/postal/100-0001", 401)
	up.tool(zoe.Key, "calendar.holidays", `{"year":2026}`, "元日")
	up.stop()
}

// export runs the export and replaces what differs from run to run.
func export(t *testing.T, data string, args ...string) (out, errs string) {
	t.Helper()
	out, errs, code := sekisho(t, append([]string{"usage", "export", "--data", data}, args...)...)
	if code != exitOK {
		t.Fatalf("export %v: %d %s", args, code, errs)
	}
	var rows []usageRow
	shown, _, _ := sekisho(t, "usage", "show", "--data", data, "--format", "json")
	if err := json.Unmarshal([]byte(shown), &rows); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		out = strings.ReplaceAll(out, r.Meter, "METER-OF-"+r.User)
		out = strings.ReplaceAll(out, r.Month, "MONTH")
	}
	return out, strings.ReplaceAll(errs, data, "DATA")
}

// TestUsageExport compares the export of a real run to the byte, except for shares and dollars.
func TestUsageExport(t *testing.T) {
	data := t.TempDir()
	traffic(t, data)
	log := filepath.Join(data, accessFile)
	if info, err := os.Stat(log); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the access log: %v, %v; want it readable for the owner only", info, err)
	}
	out, errs := export(t, data, "--bill", "10.00")
	golden(t, "export.csv", out)
	if errs != "" {
		t.Errorf("notes: %s", errs)
	}
	checkTotals(t, data, out)
	inJSON, _ := export(t, data, "--bill", "10", "--format", "json")
	golden(t, "export.json", inJSON)

	appendText(t, log, `{"gate":"denial=limit_ex`)
	torn, errs := export(t, data, "--bill", "10.00")
	if torn != out || !strings.Contains(errs, "skipped the last line, which is incomplete") {
		t.Errorf("with a torn line: %s%s", torn, errs)
	}
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	bare, errs := export(t, data)
	golden(t, "export-without-log.csv", bare)
	if !strings.Contains(errs, "note: there is no DATA/access.jsonl, so denied calls are not split by tool") {
		t.Errorf("without a log: %s", errs)
	}
	checkTotals(t, data, bare)
	if other, _ := export(t, data, "--month", "2025-01", "--bill", "5"); strings.Count(other, "\n") != 1 {
		t.Errorf("a month without calls: %s", other)
	}
}

// TestReport: the CSV inside is that of the export, the sums are its sums, and the log says what
// was throttled.
func TestReport(t *testing.T) {
	data := t.TempDir()
	traffic(t, data)
	exported, errs, code := sekisho(t, "usage", "export", "--data", data, "--bill", "10.00")
	page, pageErrs, pageCode := sekisho(t, "report", "--data", data, "--bill", "10.00")
	if code != exitOK || pageCode != exitOK || errs != "" || pageErrs != "" {
		t.Fatalf("export: %d %s, report: %d %s", code, errs, pageCode, pageErrs)
	}
	inside := regexp.MustCompile(`href="data:text/csv;charset=utf-8;base64,([^"]*)"`).FindStringSubmatch(page)
	if inside == nil {
		t.Fatal("no CSV")
	}
	rows, err := base64.StdEncoding.DecodeString(html.UnescapeString(inside[1]))
	if err != nil || string(rows) != exported {
		t.Errorf("the CSV, %v:\n%s\nwant that of the export:\n%s", err, rows, exported)
	}
	sums := columns(t, exported)
	want := fmt.Sprintf("<td>100.0 %%</td><td>%.2f</td><td>%.0f</td><td>%.0f</td><td>%.0f</td><td>0</td>",
		sums["usd"], sums["charged"]-sums["refunded"], sums["refunded"], sums["denied"])
	if n := strings.Count(page, want); n != 3 {
		t.Errorf("%d of 3 tables have the totals %s", n, want)
	}
	if !strings.Contains(page, "<bdi>=HYPERLINK(&#34;http://example.com&#34;,&#34;x&#34;)</bdi>") {
		t.Error("the name isn't shown as it is")
	}
	if !strings.Contains(page, "<bdi>app Assistant (app.example)</bdi>") {
		t.Error("the apps of a key aren't named")
	}
	if strings.Contains(page, ">unknown<") {
		t.Error("the log wasn't read")
	}
}

// checkTotals: sums equal those of `sekisho usage`, shares add up to 100 %, dollars to the bill.
func checkTotals(t *testing.T, data, exported string) {
	t.Helper()
	got := columns(t, exported)
	var rows []usageRow
	shown, _, _ := sekisho(t, "usage", "--data", data, "--format", "json")
	if err := json.Unmarshal([]byte(shown), &rows); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{}
	for _, r := range rows {
		want["used"] += float64(r.Used)
		want["refunded"] += float64(r.Refunded)
		want["denied"] += float64(r.Denied)
	}
	if got["charged"]-got["refunded"] != want["used"] || got["refunded"] != want["refunded"] || got["denied"] != want["denied"] {
		t.Errorf("sums %v, counters %v", got, want)
	}
	if d := got["share_percent"] - 100; d > 1e-9 || d < -1e-9 {
		t.Errorf("shares add up to %v", got["share_percent"])
	}
	if usd, ok := got["usd"]; ok && (usd > 10+1e-9 || usd < 10-1e-9) {
		t.Errorf("dollars add up to %v", usd)
	}
}

func columns(t *testing.T, text string) map[string]float64 {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, row := range rows[1:] {
		for i, cell := range row {
			var n json.Number
			if json.Unmarshal([]byte(cell), &n) == nil {
				f, _ := n.Float64() // JSON numbers always parse
				sums[rows[0][i]] += f
			}
		}
	}
	return sums
}

func appendText(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// Figures that depend on prices and measured counts, which checkTotals and package chargeback
// test.
var (
	csvShares  = regexp.MustCompile(`,\d+\.\d{4}(,\d+\.\d\d)?,`)
	jsonShares = regexp.MustCompile(`"(share_percent|usd)":[\d.]+`)
)

func golden(t *testing.T, name, got string) {
	t.Helper()
	got = csvShares.ReplaceAllStringFunc(got, func(cells string) string {
		if strings.Count(cells, ",") == 3 {
			return ",SHARE,USD,"
		}
		return ",SHARE,"
	})
	got = jsonShares.ReplaceAllString(got, `"$1":0`)
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", path, got, want)
	}
}

// TestExportFromLogsInsights exports the same month with denials from CloudWatch Logs, which a
// stand-in emulates over the lines of the file.
func TestExportFromLogsInsights(t *testing.T) {
	data := t.TempDir()
	traffic(t, data)
	fromFile, _ := export(t, data, "--bill", "10.00")
	log, err := os.ReadFile(filepath.Join(data, accessFile))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(insights(t, string(log)))
	defer server.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_CLOUDWATCH_LOGS": server.URL, "AWS_REGION": "us-east-1",
		"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
	fromGroup, errs := export(t, data, "--bill", "10.00", "--access-log-group", "/access")
	if fromGroup != fromFile || errs != "" {
		t.Errorf("from the group:\n%s%s\nfrom the file:\n%s", fromGroup, errs, fromFile)
	}
	_, errs, code := sekisho(t, "usage", "export", "--data", data, "--access-log-group", "/nobody")
	if code != exitUsage || !strings.Contains(errs, "there is no such log group; the names are Terraform's output denials_log_groups") {
		t.Errorf("no group: %d %s", code, errs)
	}
}

// insights answers the export's query over the lines of a log. Package logsinsights tests the
// query itself and other answers.
func insights(t *testing.T, log string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var in struct{ LogGroupName string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".StartQuery") {
			if in.LogGroupName != "/access" {
				w.WriteHeader(http.StatusBadRequest)
				io.WriteString(w, `{"__type":"ResourceNotFoundException","message":"The specified log group does not exist."}`)
				return
			}
			io.WriteString(w, `{"queryId":"q"}`)
			return
		}
		rows := [][]map[string]string{}
		for line := range strings.Lines(log) {
			record, err := gateway.ParseAccessRecord([]byte(line))
			if err != nil {
				t.Error(err)
			}
			if said := record.Admission; record.Refusal() != "" {
				row := []map[string]string{{"field": "calls", "value": "1"}}
				for name, value := range map[string]string{"meter": said.Meter, "operation": said.Operation, "denial": said.Denial, "response_type": record.ResponseType} {
					row = append(row, map[string]string{"field": name, "value": value})
				}
				rows = append(rows, row)
			}
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"status": "Complete", "results": rows}); err != nil {
			t.Error(err)
		}
	}
}

func TestSpreadsheetSafe(t *testing.T) {
	for _, harmless := range []string{
		"", "alice", "a=b", "東京支社", "'=1", "-1", "-1.50", "12", "コーヒー", " plain", "　本社", "(=1)", "~x", "alice@example.com",
	} {
		if got := spreadsheetSafe(harmless); got != harmless {
			t.Errorf("%q becomes %q", harmless, got)
		}
	}
	for _, formula := range []string{
		"=1+1", "+1", "-1+1", "--1", "@x", "-", "\t=1", "\r=1", "\n=1", "\x00=1", "\tplain",
		"＝1+1", "＋1", "－1", "＠SUM(1)", "ー1", "﹦1", "﹢1", "﹣1", "﹫x", "⁼1", "⁺1", "−1",
		" =1", "  ＝1", "　＝1", "\u00a0=1", "\u200b=1", "\ufeff=1", "\u202e=1",
	} {
		if got := spreadsheetSafe(formula); got != "'"+formula {
			t.Errorf("%q becomes %q", formula, got)
		}
	}
}

func TestUsageCSVIsSafe(t *testing.T) {
	var out bytes.Buffer
	if err := usageCSV(&out, []usageRow{{Meter: "key_a", Name: formula}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"'=HYPERLINK(""http://example.com"",""x"")"`) || !strings.HasSuffix(out.String(), "\r\n") {
		t.Errorf("%q", out.String())
	}
}
