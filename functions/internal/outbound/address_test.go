package outbound

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
)

func TestMayDial(t *testing.T) {
	const public, private, never = "public", "private", "never"
	for kind, addrs := range map[string]string{
		public: `8.8.8.8 1.1.1.1 172.15.0.1 172.32.0.1 100.63.255.255 100.128.0.1 169.253.0.1 198.17.0.1 198.20.0.1
			2600:1f18::1 2a00:1450:4001:831::200e 2001:4860:4860::8888 2001:200::1
			::ffff:8.8.8.8 64:ff9b::808:808`,
		private: `10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 127.0.0.1 127.255.255.254 0.0.0.0 :: ::1
			fc00::1 fd12:3456::1 fd12:3456::1%1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:c0a8:101 64:ff9b::7f00:1`,
		never: `0.1.2.3 100.64.0.1 100.100.100.200 100.127.255.255 ::ffff:100.100.100.200 64:ff9b::6464:64c8
			169.254.169.254 169.254.170.2 ::ffff:169.254.169.254 64:ff9b::a9fe:a9fe
			192.0.0.9 192.0.0.192 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.175.48.1
			198.18.0.1 198.19.255.255 198.51.100.9 203.0.113.9 224.0.0.1 240.0.0.1 255.255.255.255
			168.63.129.16 ::ffff:168.63.129.16 fd00:ec2::254 fd00:ec2::254%1 fd00:ec2::23 fd20:ce::254 fd00:c1::a9fe:a9fe fd00:42::42
			fe80::1 fe80::1%eth0 fe80::ffff:169.254.169.25 fec0::1 ff02::1
			::127.0.0.1 ::ffff:0:127.0.0.1 64:ff9b:1::7f00:1 100::1 100:0:0:1::1 5f00::1
			2001::4136:e378 2001:0:4136:e378:8000:: 2001:2::1 2001:20::1 2001:1ff:ffff:: 2001:db8::1 2001:db8::1%1
			2002:a9fe:a9fe::1 2002:7f00:1::1 2002:808:808::1 2620:4f:8000::1 3fff::1`,
	} {
		for _, addr := range strings.Fields(addrs) {
			a := netip.MustParseAddr(addr)
			if got := mayDial(a, false); got != (kind == public) {
				t.Errorf("%s is %s, dialled: %t", addr, kind, got)
			}
			if got := mayDial(a, true); got != (kind != never) {
				t.Errorf("%s is %s, dialled where private ones are allowed: %t", addr, kind, got)
			}
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

// A host at a public address may not redirect to a private one, whatever is allowed; nor
// may one that resolved to a public address and then to a private one. The public host is
// one whose connection says so, as there is none within reach.
func TestPublicHostsLeadToPublicHosts(t *testing.T) {
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the private host was reached")
	}))
	defer inside.Close()
	var target string
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target, http.StatusFound)
	}))
	defer outside.Close()
	for name, location := range map[string]string{
		"a private address":            inside.URL,
		"the same name, since private": "/again",
	} {
		target = location
		c := newClient(t, Config{AllowPrivate: true, AllowPrivateRedirects: true})
		dial, dials := c.private.transport.DialContext, 0
		c.private.transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			dials++
			conn, err := dial(ctx, network, outside.Listener.Addr().String())
			*ctx.Value(peerKey{}).(*net.Addr) = net.TCPAddrFromAddrPort(netip.MustParseAddrPort("8.8.8.8:80"))
			return conn, err
		}
		url := "http://localhost:" + outside.URL[strings.LastIndex(outside.URL, ":")+1:]
		_, err := Do(t.Context(), c, Request{URL: url}, raw)
		c.Close()
		var blocked *BlockedAddressError
		if !errors.As(err, &blocked) || dials != 1 {
			t.Errorf("to %s: %v after %d dials", name, err, dials)
		}
	}
}

func TestSameOrigin(t *testing.T) {
	home, _ := url.Parse("https://api.test:8443/a")
	for location, same := range map[string]bool{
		"/b": true, "https://api.test:8443/b": true, "http://api.test:8443/b": false, "https://api.test/b": false, "https://api2.test:8443/b": false,
	} {
		if u, _ := home.Parse(location); sameOrigin(u, home) != same {
			t.Errorf("%s: want %t", location, same)
		}
	}
	for _, named := range []string{"https://api.test:443/", "http://api.test:80/"} {
		a, _ := url.Parse(named)
		b, _ := url.Parse(a.Scheme + "://api.test/")
		if !sameOrigin(a, b) {
			t.Errorf("the default port makes another origin of %s", named)
		}
	}
}

// TestRedirection: what of an answer is followed.
func TestRedirection(t *testing.T) {
	from, _ := url.Parse("http://api.test/a")
	for _, c := range []struct {
		status           int
		method, location string
		next, why        string
	}{
		{302, "GET", "/b", "http://api.test/b", ""}, {308, "HEAD", "https://b.test/", "https://b.test/", ""},
		{302, "GET", "", "", ""}, {200, "GET", "/b", "", ""}, {201, "POST", "/b", "", ""}, {304, "GET", "/b", "", ""},
		{307, "POST", "/b", "", "only GET and HEAD"}, {302, "GET", "ftp://api.test/", "", "not an http"}, {302, "GET", "http://[", "", "not an http"},
	} {
		next, err := redirection(&http.Response{StatusCode: c.status, Header: http.Header{"Location": {c.location}}}, from, c.method)
		if next == nil && c.next != "" || next != nil && next.String() != c.next || (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%+v: %v, %v", c, next, err)
		}
	}
}

func TestCallable(t *testing.T) {
	for raw, want := range map[string]bool{
		"http://api.test/": true, "https://a~b.test:1/": true, "http://[::1]/": true, "http://xn--9ca.test/": true,
		"http://é.test/": false, "http://[fe80::1%25a%20b]/": false, "ftp://api.test/": false, "http:///a": false, "/a": false,
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := callable(u); got != want {
			t.Errorf("%s is callable: %t", raw, got)
		}
	}
}

// TestRedirectsWithinTheOrigin: with Config.SameOrigin no request goes to another.
func TestRedirectsWithinTheOrigin(t *testing.T) {
	for location, follows := range map[string]bool{
		"/there": true, "http://stats.test:80/there": true,
		"http://stats.test:81/there": false, "https://stats.test/there": false, "http://other.test/there": false,
	} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			network, stop := countingNetwork(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if calls++; r.URL.Path != "/there" {
					http.Redirect(w, r, location, http.StatusFound)
				}
			}))
			defer stop()
			c := newClient(t, Config{Dial: network.dial, SameOrigin: true})
			defer c.Close()
			_, err := Do(t.Context(), c, Request{URL: "http://stats.test/"}, raw)
			var e *Error
			if follows && (err != nil || calls != 2) || !follows && (!errors.As(err, &e) || e.Reason != ReasonRedirect || calls != 1 || network.dialled.Load() != 1) {
				t.Errorf("%s: %d calls over %d connections, %v", location, calls, network.dialled.Load(), err)
			}
		})
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

// TestPrivateHosts: from one, redirects may lead to others; in whatever notation it answered.
func TestPrivateHosts(t *testing.T) {
	for text, want := range map[string]bool{
		"10.0.0.1": true, "::ffff:10.0.0.1": true, "64:ff9b::10.0.0.1": true, "fd12::1%eth0": true, "::1": true, "0.0.0.0": true,
		"8.8.8.8": false, "64:ff9b::8.8.8.8": false, "100.64.0.1": false, "169.254.1.1": false,
	} {
		if got := isPrivate(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s is private: %t", text, got)
		}
	}
}
