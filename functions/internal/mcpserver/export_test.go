package mcpserver

import "net/http"

// Counting is a handler that counts the messages that it takes for usual.
func Counting(h http.Handler) (counting http.Handler, usual *int) {
	s, n := *h.(*server), 0
	s.isUsual = func(h http.Header, m *message) bool {
		is := isUsual(h, m)
		if is && (m.method == "tools/list" || m.method == "tools/call" && s.tools.byName[m.name] != nil) {
			n++
		}
		return is
	}
	return &s, &n
}

// Connected is a handler of the same server that has the SDK answer everything.
func Connected(h http.Handler) http.Handler {
	s := *h.(*server)
	s.isUsual = func(http.Header, *message) bool { return false }
	return &s
}
