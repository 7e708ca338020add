package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Over HTTP/2 a lost exchange is an error of a stream, of other types; the verdict is
// the same. Real sockets, no waits: one attempt each.
func TestHTTP2(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("spoken: %s", r.Proto)
		}
		switch r.URL.Path {
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/abort-body":
			io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	defer srv.Close()
	c := newClient(t, Config{AllowPrivate: true})
	defer c.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	c.home.TLSClientConfig = &tls.Config{RootCAs: roots}

	if _, err := Do(t.Context(), c, Request{Method: "POST", URL: srv.URL}, raw); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/abort", "/abort-body"} {
		_, err := Do(t.Context(), c, Request{Method: "POST", URL: srv.URL + path}, raw)
		var e *Error
		if !errors.As(err, &e) || e.Reason != ReasonConnection || e.Stop != StopAmbiguous || e.Attempts != 1 {
			t.Errorf("%s: got %v", path, err)
		}
	}
}
