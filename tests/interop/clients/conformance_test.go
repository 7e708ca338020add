//go:build interop

package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sekisho/tests/npm"
)

// suites are the official ones, by the names that tests/interop/conformance/package.json gives them.
var suites = []string{"conformance-0.1", "conformance-0.2"}

// kinds are the headings under which a suite lists its scenarios, by what they test.
const (
	testsServer        = "Server scenarios (test against a server)"
	testsClient        = "Client scenarios (test against a client)"
	testsAuthorization = "Authorization server scenarios (test against an authorization server)"
)

// TestAuthorizationSuites runs each scenario of the official suites that tests an authorization server
// against the OAuth door, with a person at the browser, and writes down which others there are.
func TestAuthorizationSuites(t *testing.T) {
	if !*oauth {
		t.Skip("there is no OAuth door: give -oauth")
	}
	installed, err := npm.Install("conformance")
	if err != nil {
		t.Fatal(err)
	}
	service := up(t)
	person := newPerson(t, service.key(t, roomy))
	var ran, others strings.Builder
	for _, name := range suites {
		s := suite{filepath.Join(installed.Modules, name)}
		version, err := installed.Version(name)
		if err != nil {
			t.Fatal(err)
		}
		listed := s.list(t)
		for _, scenario := range listed[testsServer] {
			if strings.Contains(scenario.name, "auth") {
				t.Errorf("%s %s tests a server's authorization: run it here", version, scenario.name)
			}
		}
		for _, revision := range []string{last, newest} {
			var names []string
			for _, scenario := range listed[testsAuthorization] {
				if strings.Contains(scenario.revisions, revision) {
					names = append(names, scenario.name)
				}
			}
			if len(names) == 0 {
				continue
			}
			found := s.authorization(t, revision, service, person)
			for _, name := range names {
				fmt.Fprintf(&ran, "| %s | %s | %s | %s |\n", version, revision, name, found[name])
			}
		}
		fmt.Fprintf(&others, "\n%s, ", version)
		var names []string
		for _, scenario := range listed[testsClient] {
			if name, ok := strings.CutPrefix(scenario.name, "auth/"); ok {
				names = append(names, name)
			}
		}
		fmt.Fprintf(&others, "%d: %s.\n", len(names), strings.Join(names, ", "))
	}
	compareTo(t, "authorization.md", "# The official suites at the OAuth door\n\nWritten by the test with `-update`. A person signs in where a scenario asks for it.\n\n"+
		"| Suite | Revision | Scenario | Checks |\n|---|---|---|---|\n"+ran.String()+
		"\n## Not run\n\nThe suites' scenarios `auth/…` test clients: in each the suite is the server itself. signin.md has what clients make of this one.\n"+others.String())
}

// suite is where the package of one is installed.
type suite struct{ dir string }

func (s suite) command(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, shared.packages.Node(), append([]string{filepath.Join(s.dir, "dist", "index.js")}, args...)...)
	command.Env = append(os.Environ(), "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	return command
}

// listed is a scenario in a suite's list.
type listed struct{ name, revisions string }

var scenarioLine = regexp.MustCompile(`^  - (\S+) \[(.*)\]$`)

// list gives the scenarios by what they test.
func (s suite) list(t *testing.T) map[string][]listed {
	out, err := s.command(t.Context(), "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]listed{}
	heading := ""
	for line := range strings.SplitSeq(string(out), "\n") {
		if found := scenarioLine.FindStringSubmatch(line); found != nil {
			all[heading] = append(all[heading], listed{found[1], found[2]})
		} else if line != "" {
			heading = strings.TrimSuffix(line, ":")
		}
	}
	for heading := range all {
		if heading != testsServer && heading != testsClient && heading != testsAuthorization {
			t.Errorf("the suite tests something new: %s", heading)
		}
	}
	if len(all[testsServer]) == 0 || len(all[testsClient]) == 0 {
		t.Fatalf("the list is not as expected: %s", out)
	}
	return all
}

// authorization runs the scenarios of a revision, and returns what came of the checks of each.
func (s suite) authorization(t *testing.T, revision string, service *service, person *person) map[string]string {
	ctx, cancel := context.WithTimeout(t.Context(), stepTime)
	defer cancel()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	issuer := strings.TrimSuffix(service.OAuthURL, "/mcp")
	results := t.TempDir()
	command := s.command(ctx, "authorization", "--url", issuer, "--resource", service.OAuthURL, "--spec-version", revision,
		"--client-id", register(t, issuer, "http://127.0.0.1:"+port+"/callback"), "--port", port, "--output-dir", results)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	command.Stderr = &stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(&printed, lines.Text())
		if strings.HasPrefix(lines.Text(), issuer+"/authorize?") {
			// It opens no browser, and prints the address for a person just before it listens.
			if err := exec.CommandContext(ctx, person.program, lines.Text()).Run(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := command.Wait(); err != nil {
		t.Errorf("the suite: %v: %s%s", err, printed.String(), stderr.Bytes())
	}
	return checks(t, results)
}

// register makes the suite an app that may sign people in.
func register(t *testing.T, issuer, callback string) string {
	body, err := json.Marshal(map[string]any{"client_name": "conformance", "redirect_uris": []string{callback}, "token_endpoint_auth_method": "none"})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post(issuer+"/register", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var made struct {
		ID string `json:"client_id"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&made); err != nil || made.ID == "" {
		t.Fatalf("registration: %d, %v", answer.StatusCode, err)
	}
	return made.ID
}

var resultDir = regexp.MustCompile(`^authorization-server-(.+)-\d{4}-\d\d-\d\dT[^T]*$`)

// checks reads the suite's files: one directory for each scenario, named after it and the time.
func checks(t *testing.T, results string) map[string]string {
	dirs, err := os.ReadDir(results)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, dir := range dirs {
		raw, err := os.ReadFile(filepath.Join(results, dir.Name(), "checks.json"))
		var list []struct {
			ID      string `json:"id"`
			Status  string `json:"status"`
			Message string `json:"errorMessage"`
		}
		name := resultDir.FindStringSubmatch(dir.Name())
		if err := errors.Join(err, json.Unmarshal(raw, &list)); err != nil || name == nil {
			t.Fatalf("%s: %v", dir.Name(), err)
		}
		var said []string
		for _, c := range list {
			said = append(said, c.ID+": "+strings.TrimSpace(c.Status+" "+c.Message))
			if c.Status != "SUCCESS" {
				t.Errorf("%s: %s", name[1], said[len(said)-1])
			}
		}
		found[name[1]] = strings.Join(said, "; ")
	}
	return found
}
