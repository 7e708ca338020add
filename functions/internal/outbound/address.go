package outbound

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// BlockedAddressError is an address that may not be dialled.
type BlockedAddressError struct{ Addr netip.Addr }

func (e *BlockedAddressError) Error() string {
	return fmt.Sprintf("address %s is refused: it is not a public one", e.Addr)
}

// guardedDial checks the address that is really dialled, after the name was
// resolved: a check of the name, or of an earlier answer for it, could be evaded by
// a name that resolves differently the next time.
func guardedDial(private bool, resolver *net.Resolver) dialFunc {
	d := &net.Dialer{
		Timeout:  10 * time.Second,
		Resolver: resolver,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("read the address to dial: %w", err)
			}
			if mayDial(ap.Addr(), private) {
				return nil
			}
			return &BlockedAddressError{Addr: ap.Addr()}
		},
	}
	return d.DialContext
}

// mayDial reports whether addr may be dialled: public addresses always, the rest never,
// except that private allows loopback and the private ranges, where own services are.
func mayDial(addr netip.Addr, private bool) bool {
	addr = plain(addr)
	if in(metadata, addr) {
		return false
	}
	if isPrivate(addr) {
		return private
	}
	return !in(special, addr) && (addr.Is4() || globalIPv6.Contains(addr))
}

// isPrivate: RFC 1918, fc00::/7, loopback, and the unspecified address, which reaches
// loopback. Shared address space (100.64.0.0/10) belongs to a carrier or a cloud, so it
// isn't.
func isPrivate(addr netip.Addr) bool {
	addr = plain(addr)
	return addr.IsPrivate() || addr.IsLoopback() || addr.IsUnspecified()
}

// plain is addr without its zone, which no prefix contains, or the IPv4 address that it
// stands for: mapped (::ffff:a.b.c.d), or behind NAT64 (64:ff9b::a.b.c.d).
func plain(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if nat64.Contains(addr) {
		b := addr.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return addr
}

func in(prefixes []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

var (
	globalIPv6 = netip.MustParsePrefix("2000::/3")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
)

// metadata are addresses at which clouds hand out credentials or configuration, and which
// no other rule refuses everywhere. Most clouds use link-local ones.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("fd00:ec2::/32"),          // AWS
	netip.MustParsePrefix("fd20:ce::/32"),           // Google Cloud
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle Cloud
	netip.MustParsePrefix("fd00:42::42/128"),        // Scaleway
	netip.MustParsePrefix("168.63.129.16/32"),       // Azure, in public space
}

// special are the blocks of IANA's special-purpose address registries (RFC 6890) and
// multicast, without the private ones. IPv6 outside 2000::/3 needs no entry.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),         // this network
	netip.MustParsePrefix("100.64.0.0/10"),     // shared address space: carrier NAT, cloud services
	netip.MustParsePrefix("169.254.0.0/16"),    // link-local; instance metadata
	netip.MustParsePrefix("192.0.0.0/24"),      // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),      // documentation
	netip.MustParsePrefix("192.31.196.0/24"),   // AS112
	netip.MustParsePrefix("192.52.193.0/24"),   // AMT
	netip.MustParsePrefix("192.88.99.0/24"),    // 6to4 relays, withdrawn
	netip.MustParsePrefix("192.175.48.0/24"),   // AS112
	netip.MustParsePrefix("198.18.0.0/15"),     // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"),   // documentation
	netip.MustParsePrefix("203.0.113.0/24"),    // documentation
	netip.MustParsePrefix("224.0.0.0/4"),       // multicast
	netip.MustParsePrefix("240.0.0.0/4"),       // reserved, broadcast
	netip.MustParsePrefix("2001::/23"),         // protocol assignments, Teredo
	netip.MustParsePrefix("2001:db8::/32"),     // documentation
	netip.MustParsePrefix("2002::/16"),         // 6to4, withdrawn
	netip.MustParsePrefix("2620:4f:8000::/48"), // AS112
	netip.MustParsePrefix("3fff::/20"),         // documentation
}
