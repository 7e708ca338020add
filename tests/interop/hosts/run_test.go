//go:build interop

package hosts

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestHosts takes every host through every conversation, and compares what its model was given.
func TestHosts(t *testing.T) {
	all := newReport()
	t.Run("all", func(t *testing.T) {
		for _, h := range hosts {
			for _, c := range conversations {
				t.Run(h.id+"/"+c.name, func(t *testing.T) {
					t.Parallel()
					all.add(t, h, h.converse(t, c.name, c.short, c.scenarios))
				})
			}
		}
	})
	all.compare(t)
}

// TestPrinted: configuration is printed for each host that runs here, and for no other. The Inspector and
// curl aren't hosts; the tests of the clients and of the page run them.
func TestPrinted(t *testing.T) {
	want := []string{"inspector", "curl"}
	for _, h := range hosts {
		want = append(want, h.id)
	}
	var got []string
	for _, c := range up(t).clients(t) {
		got = append(got, c.ID)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("configuration is printed for %v; run are %v", got, want)
	}
}

// converse takes a host through a conversation.
func (h host) converse(t *testing.T, name string, short int, scenarios []scenario) talk {
	t.Helper()
	s := up(t)
	c := &conversation{t: t, service: s, scenarios: scenarios}
	m := &model{script: c}
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
	if err != nil || !c.ended() {
		t.Errorf("the host came to scenario %d of %d: %v\n%s", len(c.outcomes), len(scenarios), err, out.Bytes())
	}
	for _, fault := range m.faults {
		t.Error(fault)
	}
	s.proxy.begin(fault{}, "") // ends what is still held
	return talk{outcomes: c.outcomes, listed: s.listed(t), protocol: s.proxy.protocol}
}
