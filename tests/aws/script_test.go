package aws

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sekisho/tests/repository"
)

// TestScriptRefuses: without an explicit request nothing is applied, and the message says what
// to do.
func TestScriptRefuses(t *testing.T) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		environment []string
		says        string
	}{
		"not asked":       {[]string{"AWS_PROFILE=sandbox"}, "SEKISHO_TEST_AWS=yes AWS_PROFILE=… make test-aws"},
		"asked otherwise": {[]string{"SEKISHO_TEST_AWS=1", "AWS_PROFILE=sandbox"}, "which costs money"},
		"no credentials":  {[]string{"SEKISHO_TEST_AWS=yes"}, "set AWS_PROFILE"},
		"another gateway": {[]string{"SEKISHO_TEST_AWS=yes", "AWS_PROFILE=sandbox", "SEKISHO_TEST_AWS_GATEWAY=moto"}, "is aws or local, not moto"},
	} {
		command := exec.CommandContext(t.Context(), filepath.Join(root, "scripts", "test-aws"))
		// Only the system's PATH, so that no terraform is found that could apply anything.
		command.Env = append([]string{"PATH=/usr/bin:/bin"}, c.environment...)
		out, err := command.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), c.says) {
			t.Errorf("%s: %v, %s; want exit code 2 and %q", name, err, out, c.says)
		}
	}
}
