package laptop_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"sekisho/functions/internal/account"
	"sekisho/functions/internal/laptop"
	"sekisho/functions/internal/usage"
)

// TestStalledClient: one that stops sending in the middle of a body, or reading an answer, does
// not keep the service from stopping. The unit that it was admitted for comes back.
func TestStalledClient(t *testing.T) {
	t.Parallel()
	s := start(t, account.Plans{"demo": usage.PerMonth(10)}, nil)
	if server := s.Server(); server.ReadHeaderTimeout <= 0 || server.ReadTimeout <= 0 || server.IdleTimeout <= 0 {
		t.Errorf("a client may stall for ever: %+v", server)
	}
	secret, key := s.newKey("demo")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, laptop.Listeners{API: listener}) }()
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	io.WriteString(connection, "POST /v1/external/publications HTTP/1.1\r\nHost: x\r\nX-Api-Key: "+secret.Reveal()+"\r\nContent-Length: 100\r\n\r\nhalf")
	for deadline := time.Now().Add(30 * time.Second); s.used(key, thisMonth()).Used == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not admitted within 30 s")
		}
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the service does not stop")
	}
	counts, err := s.stores.Usage().Counts(t.Context(), key.Meter, thisMonth())
	if err != nil || counts[0].Used != 0 || counts[0].Refunded != 1 {
		t.Errorf("%+v, %v; want the unit given back", counts, err)
	}
}
