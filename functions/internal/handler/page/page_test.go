package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/clientconfig"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
)

// env of the function that get builds.
var env map[string]string

// get asks for the page, or for a file under a version, at the path of a stage.
func get(t *testing.T, at, version, name string, header map[string]string) events.APIGatewayProxyResponse {
	t.Helper()
	event := events.APIGatewayProxyRequest{
		HTTPMethod: http.MethodGet, Resource: "/", Path: "/", Headers: header,
		RequestContext: events.APIGatewayProxyRequestContext{Path: at},
	}
	if name != "" {
		event.Resource, event.Path = "/page/{version}/{file}", "/page/"+version+"/"+name
		event.RequestContext.Path = strings.TrimRight(at, "/") + event.Path
		event.PathParameters = map[string]string{"version": version, "file": name}
	}
	payload, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Build(boot.Runtime{Function: "page", Env: boot.Map(env), Log: zap.NewNop(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := f.Invoke(t.Context(), payload)
	if err != nil {
		t.Fatal(err)
	}
	var r events.APIGatewayProxyResponse
	if err := json.Unmarshal(answer, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func files(t *testing.T) *site {
	t.Helper()
	s, err := newSite()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAddresses: all that the page links to is there, whatever path the API has, with its final
// slash or without.
func TestAddresses(t *testing.T) {
	link := regexp.MustCompile(`(?:href|src)="([^#"][^"]*)"`)
	s := files(t)
	for at, base := range map[string]string{"/": "", "/live": "/live", "/live/": "/live", "/live//": "/live", `/a"b<c/`: "/a&#34;b&lt;c"} {
		linked := []string{}
		for _, m := range link.FindAllStringSubmatch(get(t, at, "", "", nil).Body, -1) {
			if strings.HasPrefix(m[1], "data:") {
				continue
			}
			name, ok := strings.CutPrefix(m[1], base+"/page/"+s.version+"/")
			if _, there := s.files[name]; !ok || !there {
				t.Errorf("at %s the page links to %s", at, m[1])
			}
			linked = append(linked, name)
		}
		for _, name := range slices.Sorted(maps.Keys(s.files)) {
			loadedLater := name == index || name == clients || name == "uplot-license.txt"
			if !loadedLater && !slices.Contains(linked, name) {
				t.Errorf("at %s: %s is not asked for ahead", at, name)
			}
		}
	}
	imported := regexp.MustCompile(`(?:from|new URL\() ?"\.?/?([\w.-]+\.\w+)"`)
	for name, content := range s.files {
		if path.Ext(name) != ".js" {
			continue
		}
		for _, m := range imported.FindAllSubmatch(content, -1) {
			if _, ok := s.files[string(m[1])]; !ok {
				t.Errorf("%s imports %s, which is not there", name, m[1])
			}
		}
	}
}

// TestFiles: each comes with its type, to be kept for good under the right version only, and is not
// sent again to a browser that has it.
func TestFiles(t *testing.T) {
	s := files(t)
	for name := range s.files {
		if name == index {
			continue
		}
		r := get(t, "/live", s.version, name, nil)
		if r.StatusCode != http.StatusOK || r.Body != string(s.files[name]) || r.IsBase64Encoded || r.Headers["Content-Type"] != contentTypes[path.Ext(name)] || r.Headers["Content-Type"] == "" {
			t.Errorf("%s: %d, %s, %d bytes", name, r.StatusCode, r.Headers["Content-Type"], len(r.Body))
		}
		if !strings.Contains(r.Headers["Cache-Control"], "immutable") {
			t.Errorf("%s: Cache-Control is %s", name, r.Headers["Cache-Control"])
		}
		if old := get(t, "/live", "0123456789abcdef", name, nil); old.StatusCode != http.StatusOK || old.Headers["Cache-Control"] != "no-cache" {
			t.Errorf("%s of another version: %d, %s", name, old.StatusCode, old.Headers["Cache-Control"])
		}
		again := get(t, "/live", s.version, name, map[string]string{"if-none-match": `"other", W/` + r.Headers["Etag"]})
		if again.StatusCode != http.StatusNotModified || again.Body != "" || again.Headers["Etag"] != r.Headers["Etag"] {
			t.Errorf("%s again: %d, %d bytes", name, again.StatusCode, len(again.Body))
		}
	}
	for _, name := range []string{"nothing.js", index, "static", "..", "../page.go"} {
		if r := get(t, "/live", s.version, name, nil); r.StatusCode != http.StatusNotFound || r.Headers["Cache-Control"] != "" || !strings.Contains(r.Body, "route_not_found") {
			t.Errorf("%s: %d %s", name, r.StatusCode, r.Body)
		}
	}
	page := get(t, "/live", "", "", nil)
	if page.Headers["Cache-Control"] != "no-cache" || get(t, "/live", "", "", map[string]string{"If-None-Match": page.Headers["Etag"]}).StatusCode != http.StatusNotModified {
		t.Error("the page is kept, or sent again to a browser that has it")
	}
	if elsewhere := get(t, "/other", "", "", nil); elsewhere.Headers["Etag"] == page.Headers["Etag"] {
		t.Error("two pages have one ETag")
	}
}

// TestHeaders: whatever the answer is, a browser takes scripts and styles from this API alone, asks
// nobody else, gets no cookie and makes no HTML of text.
func TestHeaders(t *testing.T) {
	s := files(t)
	for _, name := range []string{"", "main.js", "style.css", clients, "nothing"} {
		r := get(t, "/", s.version, name, nil)
		policy := map[string]string{}
		for directive := range strings.SplitSeq(r.Headers["Content-Security-Policy"], "; ") {
			word, value, _ := strings.Cut(directive, " ")
			policy[word] = value
		}
		want := map[string]string{
			"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'", "img-src": "data:", "base-uri": "'none'",
			"form-action": "'none'", "frame-ancestors": "'none'", "require-trusted-types-for": "'script'", "trusted-types": "'none'",
		}
		if !maps.Equal(policy, want) {
			t.Errorf("%q: the policy is %v", name, policy)
		}
		for header, value := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Set-Cookie": "",
		} {
			if r.Headers[header] != value {
				t.Errorf("%q: %s is %q", name, header, r.Headers[header])
			}
		}
	}
}

// TestNothingInline: what the policy forbids would be dropped without a word, and what makes HTML of
// text would throw.
func TestNothingInline(t *testing.T) {
	s := files(t)
	for _, forbidden := range []string{`\sstyle\s*=`, `\son\w+\s*=`, `<script(?:\s[^>]*)?>[^<]`, `<style`, `https?://[^w]`, `javascript:`} {
		if found := regexp.MustCompile(forbidden).Find(bytes.ReplaceAll(s.files[index], []byte("http://www.w3.org/2000/svg"), nil)); found != nil {
			t.Errorf("the page has %q", found)
		}
	}
	forbidden := regexp.MustCompile(`\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|new Function|setAttribute\("style|cookie|https?://)`)
	for name, content := range s.files {
		if found := forbidden.Find(content); found != nil && path.Ext(name) == ".js" && name != "uplot.js" {
			t.Errorf("%s has %s", name, found)
		}
	}
	if found := regexp.MustCompile(`@import|url\(`).Find(s.files["style.css"]); found != nil {
		t.Errorf("style.css has %s", found)
	}
}

// TestChartLibrary: it is the released file, with its licence beside it.
func TestChartLibrary(t *testing.T) {
	s := files(t)
	for name, want := range map[string]string{
		"uplot.js":  "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
		"uplot.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
	} {
		if hash := sha256.Sum256(s.files[name]); hex.EncodeToString(hash[:]) != want {
			t.Errorf("%s has the SHA-256 %x", name, hash)
		}
	}
	const version = "1.6.32"
	if !bytes.Contains(s.files["uplot.js"], []byte("(v"+version+")")) || !bytes.Contains(s.files["uplot-license.txt"], []byte("uPlot "+version)) ||
		!bytes.Contains(s.files["uplot-license.txt"], []byte("The MIT License")) {
		t.Errorf("it is not version %s, or lacks its licence", version)
	}
}

// TestWeight: what a first visit downloads, as API Gateway compresses it.
func TestWeight(t *testing.T) {
	const most = 120_000
	sum := 0
	for _, content := range files(t).files {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		sum += b.Len()
	}
	t.Logf("%d bytes", sum)
	if sum > most {
		t.Errorf("all files together are %d bytes, compressed; at most %d are wanted", sum, most)
	}
}

// TestWords: both languages have the same words with the same places, and the page uses each.
func TestWords(t *testing.T) {
	s := files(t)
	_, text, _ := strings.Cut(string(s.files["words.js"]), "export const words = ")
	var words map[string]map[string]string
	if err := json.Unmarshal([]byte(strings.TrimSuffix(strings.TrimSpace(text), ";")), &words); err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(words)); !slices.Equal(names, []string{"en", "ja"}) {
		t.Fatalf("the languages are %v", names)
	}
	var used strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		if name != "words.js" && name != "uplot.js" {
			used.Write(s.files[name])
		}
	}
	place := regexp.MustCompile(`\{\w+\}`)
	places := func(text string) []string { return slices.Sorted(slices.Values(place.FindAllString(text, -1))) }
	for word, english := range words["en"] {
		japanese, ok := words["ja"][word]
		if !ok || !slices.Equal(places(english), places(japanese)) {
			t.Errorf("%s: %q, %q", word, english, japanese)
		}
		group, _, _ := strings.Cut(word, ".")
		if !strings.Contains(used.String(), `"`+word+`"`) && !strings.Contains(used.String(), "`"+group+".${") {
			t.Errorf("%s is not used", word)
		}
	}
	for word := range words["ja"] {
		if _, ok := words["en"][word]; !ok {
			t.Errorf("%s is in Japanese only", word)
		}
	}
	for _, m := range regexp.MustCompile(`\bt\("([^"]+)"|data-word="([^"]+)"`).FindAllStringSubmatch(used.String(), -1) {
		if word := m[1] + m[2]; words["en"][word] == "" {
			t.Errorf("%s is used, and not in the dictionary", word)
		}
	}
}

// TestRequests: what the views ask for is in the contract, free of charge.
func TestRequests(t *testing.T) {
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	requests := regexp.MustCompile(`"(GET|PUT|POST) ([a-z0-9/-]+)"`)
	found := 0
	for name, content := range files(t).files {
		if path.Ext(name) != ".js" {
			continue
		}
		for _, m := range requests.FindAllSubmatch(content, -1) {
			found++
			op, _ := api.Match(string(m[1]), "/"+string(m[2]))
			if op == nil || op.Units != 0 {
				t.Errorf("%s asks for %s %s, which is not there, or counted", name, m[1], m[2])
			}
		}
	}
	if found < 7 {
		t.Errorf("only %d requests were found", found)
	}
}

// TestMCPElsewhere: the page is told where MCP is, if it is not below the API.
func TestMCPElsewhere(t *testing.T) {
	if r := get(t, "", "", "", nil); !strings.Contains(r.Body, elsewhere) {
		t.Error("a page that knows of no door has no place for it")
	}
	env = map[string]string{boot.MCPURL: `https://mcp.example/"mcp`}
	defer func() { env = nil }()
	if r := get(t, "", "", "", nil); !strings.Contains(r.Body, `<meta name="mcp" content="https://mcp.example/&#34;mcp">`) {
		t.Errorf("the door is not told: %s", r.Body)
	}
}

var unfilled = regexp.MustCompile(`\{[a-z]+\}`)

// TestClients: the page gets every client that `sekisho up` prints, without a key.
func TestClients(t *testing.T) {
	r := get(t, "/", files(t).version, clients, nil)
	var got []clientconfig.Client
	if err := json.Unmarshal([]byte(r.Body), &got); err != nil || !slices.Equal(got, clientconfig.Clients()) {
		t.Fatalf("%v in %s", err, r.Body)
	}
	for _, c := range got {
		text := c.For("https://api.example/live/mcp", "https://api.example/live", "KEY")
		if unfilled.MatchString(text) || !strings.Contains(text, "https://api.example/live/") || !strings.Contains(text, "KEY") {
			t.Errorf("%s: %s", c.ID, text)
		}
	}
}

// FuzzPage: whatever path and parameters come, a file of the page is served or none, and nothing of
// the address becomes markup.
func FuzzPage(f *testing.F) {
	f.Add("/live/", "/", "", "", "")
	f.Add(`/live/"><script>`, "/", "", "", "")
	f.Add("/live/page/x/../../etc/passwd", "/page/{version}/{file}", "x", "../../etc/passwd", "")
	f.Add("/live/page/v/main.js", "/page/{version}/{file}", "v", "main.js", `"0", W/"1"`)
	built, err := newSite()
	if err != nil {
		f.Fatal(err)
	}
	built.log, built.now = zap.NewNop(), time.Now
	markup := func(page string) int {
		return strings.Count(page, "<") + strings.Count(page, ">") + strings.Count(page, `"`)
	}
	want := markup(string(built.files[index]))
	f.Fuzz(func(t *testing.T, path, resource, version, file, noneMatch string) {
		e := events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/", Resource: resource, Headers: map[string]string{"If-None-Match": noneMatch}}
		e.RequestContext.Path = path
		if file != "" {
			e.PathParameters = map[string]string{"version": version, "file": file}
		}
		payload, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := gateway.Handler(built, nil).Invoke(t.Context(), payload)
		var answer events.APIGatewayProxyResponse
		if err == nil {
			err = json.Unmarshal(raw, &answer)
		}
		if err != nil {
			t.Fatal(err)
		}
		known, ok := built.files[file]
		switch {
		case answer.StatusCode == 304:
			if !strings.Contains(noneMatch, `"`) {
				t.Errorf("not modified since %q", noneMatch)
			}
		case file != "" && (answer.StatusCode == 200) != (ok && file != index):
			t.Errorf("file %q: %d", file, answer.StatusCode)
		case file != "" && answer.StatusCode == 200 && answer.Body != string(known):
			t.Errorf("file %q came with other content", file)
		case file == "" && (answer.StatusCode != 200 || markup(answer.Body) != want):
			t.Errorf("path %q: %d, %d signs of markup, want %d", path, answer.StatusCode, markup(answer.Body), want)
		}
	})
}
