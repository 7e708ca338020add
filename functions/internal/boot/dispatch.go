package boot

import "fmt"

// The ways in which mcp gets a call to its function.
const (
	// Proxy is the default: by a request to the REST API with the caller's key.
	Proxy = "proxy"
	// Direct: mcp admits the call itself and invokes the function.
	Direct = "direct"
)

// ParseDispatch reads the name of one; "" is the default.
func ParseDispatch(name string) (string, error) {
	switch name {
	case "", Proxy:
		return Proxy, nil
	case Direct:
		return Direct, nil
	}
	return "", fmt.Errorf("%s: want %s or %s, not %q", Dispatch, Proxy, Direct, name)
}
