package outbound

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestMayDial(t *testing.T) {
	const public, private, never = "public", "private", "never"
	for addr, kind := range map[string]string{
		"8.8.8.8":                   public,
		"1.1.1.1":                   public,
		"172.15.0.1":                public,
		"172.32.0.1":                public,
		"100.63.255.255":            public,
		"2600:1f18::1":              public,
		"2a00:1450:4001:831::200e":  public,
		"::ffff:8.8.8.8":            public,
		"64:ff9b::808:808":          public, // NAT64 of 8.8.8.8
		"10.1.2.3":                  private,
		"172.16.0.1":                private,
		"172.31.255.255":            private,
		"192.168.1.1":               private,
		"100.64.0.1":                private,
		"100.100.100.200":           private, // a cloud's metadata, in shared space
		"127.0.0.1":                 private,
		"127.255.255.254":           private,
		"0.0.0.0":                   private, // reaches loopback
		"::":                        private,
		"::1":                       private,
		"fc00::1":                   private,
		"fd12:3456::1":              private,
		"::ffff:127.0.0.1":          private,
		"::ffff:10.0.0.1":           private,
		"64:ff9b::7f00:1":           private, // NAT64 of 127.0.0.1
		"2002:7f00:1::1":            private, // 6to4 of 127.0.0.1
		"169.254.169.254":           never,
		"169.254.170.2":             never,
		"::ffff:169.254.169.254":    never,
		"64:ff9b::a9fe:a9fe":        never,
		"fd00:ec2::254":             never,
		"fe80::1":                   never,
		"fe80::1%eth0":              never,
		"::127.0.0.1":               never, // IPv4-compatible, deprecated
		"0.1.2.3":                   never,
		"192.0.2.1":                 never,
		"198.18.0.1":                never,
		"224.0.0.1":                 never,
		"255.255.255.255":           never,
		"ff02::1":                   never,
		"2001:db8::1":               never,
		"2001:0:4136:e378:8000::":   never, // Teredo
		"fec0::1":                   never,
		"64:ff9b:1::7f00:1":         never,
		"3fff::1":                   never,
		"::ffff:0:127.0.0.1":        never,
		"2002:a9fe:a9fe::1":         never, // 6to4 of 169.254.169.254
		"192.88.99.1":               never,
		"240.0.0.1":                 never,
		"203.0.113.9":               never,
		"198.51.100.9":              never,
		"192.0.0.192":               never, // another cloud's metadata
		"2001:4860:4860::8888":      public,
		"::ffff:c0a8:101":           private,
		"fd00:ec2::253":             private,
		"2001:1ff:ffff::":           never,
		"2001:200::1":               public,
		"fe80::ffff:169.254.169.25": never,
	} {
		a := netip.MustParseAddr(addr)
		if got := mayDial(a, false); got != (kind == public) {
			t.Errorf("%s is %s, dialled: %t", addr, kind, got)
		}
		if got := mayDial(a, true); got != (kind != never) {
			t.Errorf("%s is %s, dialled where private ones are allowed: %t", addr, kind, got)
		}
	}
}

// Real sockets: the address is refused before anything is sent, however it is written.
func TestLoopbackIsRefusedHoweverWritten(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the server was reached")
	}))
	defer srv.Close()
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "[::1]"} {
		c := newClient(t, Config{})
		_, err := Do(t.Context(), c, Request{URL: "http://" + host + ":" + port + "/"}, raw)
		c.Close()
		var blocked *BlockedAddressError
		if !errors.As(err, &blocked) {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// A private upstream that is configured may be called, and may redirect within itself,
// but not to its neighbours unless that is configured too.
func TestPrivateUpstream(t *testing.T) {
	neighbour := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the neighbour was sent the token")
		}
	}))
	defer neighbour.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			t.Error("the token is missing")
		}
		switch r.URL.Path {
		case "/self":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/neighbour":
			http.Redirect(w, r, neighbour.URL, http.StatusFound)
		}
	}))
	defer srv.Close()
	for _, tt := range []struct {
		path                string
		redirects, expected bool
	}{
		{"/", false, true},
		{"/self", false, true},
		{"/neighbour", false, false},
		{"/neighbour", true, true},
	} {
		c := newClient(t, Config{AllowPrivate: true, AllowPrivateRedirects: tt.redirects})
		_, err := Do(t.Context(), c, Request{URL: srv.URL + tt.path, Token: "t"}, raw)
		c.Close()
		if (err == nil) != tt.expected {
			t.Errorf("%s, private redirects allowed: %t: %v", tt.path, tt.redirects, err)
		}
	}
}

func TestRedirectKeepsSecretsAtHome(t *testing.T) {
	var seen http.Header
	away := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header }))
	defer away.Close()
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u := strings.Replace(away.URL, "http://", "http://them:pw@", 1)
		http.Redirect(w, r, u, http.StatusTemporaryRedirect)
	}))
	defer home.Close()
	c := newClient(t, Config{AllowPrivate: true, AllowPrivateRedirects: true})
	defer c.Close()
	h := http.Header{"X-Api-Key": {"k"}, "Cookie": {"c=1"}, "Accept": {"text/plain"}}
	if _, err := Do(t.Context(), c, Request{URL: home.URL, Token: "t", Header: h}, raw); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Authorization", "X-Api-Key", "Cookie"} {
		if seen.Get(name) != "" {
			t.Errorf("%s left its origin", name)
		}
	}
	if seen.Get("Accept") != "text/plain" {
		t.Error("Accept got lost")
	}
}
