package outbound

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// BlockedAddressError is an address that an upstream may not be reached at.
type BlockedAddressError struct{ Addr netip.Addr }

func (e *BlockedAddressError) Error() string {
	return fmt.Sprintf("address %s is not public: refused", e.Addr)
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

// mayDial reports whether addr may be dialled: public ones always, private and
// loopback ones if private is set, the rest never.
func mayDial(addr netip.Addr, private bool) bool {
	addr = inner(addr)
	if private && (addr.IsPrivate() || addr.IsLoopback() || addr.IsUnspecified() || sharedNAT.Contains(addr)) {
		return addr != metadataIPv6
	}
	for _, p := range notPublic {
		if p.Contains(addr) {
			return false
		}
	}
	return addr.Is4() || globalIPv6.Contains(addr)
}

// inner is the IPv4 address that an IPv6 address stands for, or the address itself:
// mapped (::ffff:a.b.c.d), NAT64 (64:ff9b::/96) and 6to4 (2002::/16).
func inner(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if addr.Is4() {
		return addr
	}
	b := addr.As16()
	switch {
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:16]))
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return addr
}

var (
	globalIPv6   = netip.MustParsePrefix("2000::/3")
	nat64        = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour    = netip.MustParsePrefix("2002::/16")
	sharedNAT    = netip.MustParsePrefix("100.64.0.0/10")
	metadataIPv6 = netip.MustParseAddr("fd00:ec2::254") // EC2's, inside the private range
)

// notPublic are the blocks that IANA's special-purpose registries (RFC 6890) mark as
// not globally reachable. IPv6 outside 2000::/3 needs no entry.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("10.0.0.0/8"),      // private
	sharedNAT,                                // carrier-grade NAT
	netip.MustParsePrefix("127.0.0.0/8"),     // loopback
	netip.MustParsePrefix("169.254.0.0/16"),  // link-local; instance metadata
	netip.MustParsePrefix("172.16.0.0/12"),   // private
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("192.88.99.0/24"),  // 6to4 relays, withdrawn
	netip.MustParsePrefix("192.168.0.0/16"),  // private
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("224.0.0.0/4"),     // multicast
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, broadcast
	netip.MustParsePrefix("2001::/23"),       // protocol assignments, Teredo
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("3fff::/20"),       // documentation
}
