//go:build interop

package hosts

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

func TestHosts(t *testing.T) {
	for _, h := range hosts {
		t.Run(h.id, func(t *testing.T) {
			t.Parallel()
			for _, c := range conversations {
				t.Run(c.name, func(t *testing.T) {
					outcomes := h.converse(t, c.name, c.short, c.scenarios)
					for _, o := range outcomes {
						t.Logf("%s: %+v", o.name, o.sent)
						for _, r := range o.results {
							t.Logf("   %s %.700s", r.Flag, r.Text)
						}
					}
				})
			}
		})
	}
}

// converse takes a host through a conversation.
func (h host) converse(t *testing.T, name string, short int, scenarios []scenario) []outcome {
	t.Helper()
	s := up(t)
	talk := &conversation{t: t, service: s, scenarios: scenarios}
	m := &model{script: talk}
	if *keep != "" {
		m.keep = filepath.Join(*keep, h.id+"-"+name)
		if err := os.MkdirAll(m.keep, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	api := httptest.NewServer(m)
	t.Cleanup(api.Close)
	home := t.TempDir()
	g := ground{home: home, work: filepath.Join(home, "work"), model: api.URL, short: short}
	for _, dir := range []string{g.work, filepath.Join(home, "tmp")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	err := h.play(t, g, s.printed(t, h.id), &out)
	m.dump("output.txt", out.Bytes())
	if err != nil || !talk.ended() {
		t.Errorf("the host came to scenario %d of %d: %v\n%s", len(talk.outcomes), len(scenarios), err, out.Bytes())
	}
	for _, fault := range m.faults {
		t.Error(fault)
	}
	return talk.outcomes
}
