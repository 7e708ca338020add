//go:build interop

package clients

import (
	"context"
	"slices"
	"testing"
	"time"
)

// TestPrivateLists: a client that keeps lists for several people shows nobody another one's.
func TestPrivateLists(t *testing.T) {
	service := up(t)
	for _, mode := range []string{"legacy", "auto"} {
		t.Run(mode, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), stepTime)
			defer cancel()
			host, err := shared.packages.newTypeScript(ctx, "@modelcontextprotocol/client", mode)
			if err != nil {
				t.Fatal(err)
			}
			defer host.close()
			full, limited := service.key(t, roomy), service.key(t, roomy)
			service.switchOff(t, limited, "convert.era", "postal.search")
			for _, key := range []string{full, limited, full} {
				if _, err := host.connect(ctx, service.endpointFor(key)); err != nil {
					t.Fatal(err)
				}
				got, err := host.list(ctx)
				slices.Sort(got)
				if want := service.tools(t, key); err != nil || !slices.Equal(got, want) {
					t.Errorf("the tools are %v, %v; want %v", got, err, want)
				}
			}
			// That the lists were kept at all shows in a change that is not seen at once.
			began := time.Now()
			service.switchOff(t, full, "convert.era")
			if got, err := host.list(ctx); err != nil || !slices.Contains(got, "convert_era") && time.Since(began) < listTime/2 {
				t.Errorf("the list was not kept: %v, %v", got, err)
			}
		})
	}
}
