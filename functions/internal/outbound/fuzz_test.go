package outbound

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// FuzzRedirect: a location leads nowhere but to http and https, a write is never sent on, and what is
// taken for the origin that the secrets are for has its scheme, host and port.
func FuzzRedirect(f *testing.F) {
	for _, location := range []string{"/there", "//evil.test/", "http://stats.test/", "https://stats.test:443/a", "https://stats.test.evil.test", "https://stats.test@evil.test/", "https:stats.test", "javascript:1", "\\evil.test", "https://STATS.test", "https://[fe80::1%25en0]/"} {
		f.Add(location, "https://stats.test/v1", "GET", 302)
	}
	f.Add("http://stats.test:443/", "https://stats.test/", "POST", 307)
	f.Fuzz(func(t *testing.T, location, at, method string, status int) {
		from, err := url.Parse(at)
		if err != nil || !callable(from) {
			t.Skip()
		}
		next, err := redirection(&http.Response{StatusCode: status, Header: http.Header{"Location": {location}}}, from, method)
		if next == nil {
			return
		}
		if err != nil || method != "GET" && method != "HEAD" || status < 301 || status > 308 {
			t.Errorf("%s %d to %q is followed to %s, %v", method, status, location, next, err)
		}
		if next.Scheme != "http" && next.Scheme != "https" || next.Hostname() == "" || strings.ContainsFunc(next.Host, func(r rune) bool { return r <= ' ' || r > '~' }) {
			t.Errorf("%q leads to %s", location, next)
		}
		if sameOrigin(next, from) && (next.Scheme != from.Scheme || next.Hostname() != from.Hostname() || port(next) != port(from)) {
			t.Errorf("%s is taken for the origin of %s", next, from)
		}
	})
}

// FuzzMayDial: an address may be dialled or not in whatever notation it comes, and nothing that is not
// public may be where private ones are off.
func FuzzMayDial(f *testing.F) {
	for _, text := range []string{"127.0.0.1", "::1", "fd00:ec2::254", "169.254.169.254", "100.100.100.200", "8.8.8.8", "2001:4860:4860::8888", "::ffff:10.0.0.1", "64:ff9b::a9fe:a9fe", "fe80::1"} {
		addr := netip.MustParseAddr(text)
		f.Add(addr.AsSlice(), "")
		f.Add(addr.AsSlice(), "1")
	}
	f.Fuzz(func(t *testing.T, raw []byte, zone string) {
		addr, ok := netip.AddrFromSlice(raw)
		if !ok {
			t.Skip()
		}
		may, mayPrivate := mayDial(addr, false), mayDial(addr, true)
		if may && !mayPrivate {
			t.Errorf("%s: public, and refused where private addresses are on", addr)
		}
		same := []netip.Addr{addr.Unmap()}
		if addr.Is6() {
			same = append(same, addr.WithZone(zone))
		}
		if v4 := addr.Unmap(); v4.Is4() {
			b := v4.As4()
			same = append(same, netip.AddrFrom16(v4.As16()), netip.AddrFrom16([16]byte{0, 0x64, 0xff, 0x9b, 12: b[0], b[1], b[2], b[3]}))
		}
		for _, other := range same {
			if mayDial(other, false) != may || mayDial(other, true) != mayPrivate {
				t.Errorf("%s: public %t, private %t; as %s %t and %t", addr, may, mayPrivate, other, mayDial(other, false), mayDial(other, true))
			}
		}
		v := addr.Unmap()
		if may && (v.IsLoopback() || v.IsPrivate() || v.IsLinkLocalUnicast() || v.IsMulticast() || v.IsUnspecified()) {
			t.Errorf("%s may be dialled", addr)
		}
		if mayPrivate && (v.IsLinkLocalUnicast() || v.IsMulticast()) {
			t.Errorf("%s may be dialled where private addresses are on", addr)
		}
	})
}
