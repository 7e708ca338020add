package admission_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sekisho/functions/internal/admission"
	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/contract"
)

// TestPlansAreBoundByTheDeployedContract: a function that asked the contract which is built in would
// decode a second one at every cold start.
func TestPlansAreBoundByTheDeployedContract(t *testing.T) {
	built, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	const field = `"most_burst":`
	doc := contract.Document()
	at := bytes.Index(doc, []byte(field))
	if at < 0 {
		t.Fatal("the contract says no most_burst")
	}
	root := t.TempDir()
	end := at + len(field) + bytes.IndexAny(doc[at+len(field):], ",}")
	deployed := append(append(bytes.Clone(doc[:at]), field+"7"...), doc[end:]...)
	if err := os.WriteFile(filepath.Join(root, contract.File), deployed, 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"LAMBDA_TASK_ROOT": root, boot.Plans: `{"p":{"per_second":1,"burst":8}}`}
	if built.Limits.Plan.MostBurst < 8 {
		t.Fatal("the contract that is built in refuses the burst too")
	}
	if _, err := admission.PlansFromEnv(boot.Map(env)); err == nil || !strings.Contains(err.Error(), "1 to 7 calls") {
		t.Errorf("a burst beyond the deployed contract's: %v", err)
	}
}
