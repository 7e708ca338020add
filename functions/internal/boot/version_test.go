package boot

import (
	"runtime/debug"
	"testing"
)

func TestChoose(t *testing.T) {
	module := func(v string) *debug.BuildInfo { return &debug.BuildInfo{Main: debug.Module{Version: v}} }
	for _, c := range []struct {
		text string
		info *debug.BuildInfo
		want string
	}{
		{"1.2.0", module("v0.9.0"), "1.2.0"},
		{"", module("v0.9.0"), "v0.9.0"},
		{"", module("(devel)"), "dev"},
		{"", module(""), "dev"},
		{"", nil, "dev"},
	} {
		if got := choose(c.text, c.info); got != c.want {
			t.Errorf("%q, %+v: got %s, want %s", c.text, c.info, got, c.want)
		}
	}
}
