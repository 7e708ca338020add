//go:build interop

package clients

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// news are the progress messages of one call at a time. Go clients handle notifications
// beside the call, so that they may come after its result.
type news struct {
	mu       sync.Mutex
	calls    int
	messages []string
	// last is closed by the message that ends the call.
	last chan struct{}
}

// next begins a call and gives its progress token.
func (n *news) next() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls++
	n.messages, n.last = nil, make(chan struct{})
	return n.token()
}

func (n *news) token() string { return fmt.Sprintf("call-%d", n.calls) }

// tell takes a message, unless it belongs to a call before.
func (n *news) tell(token any, message string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if token != n.token() {
		return
	}
	n.messages = append(n.messages, message)
	if strings.HasSuffix(message, " has finished") {
		close(n.last)
	}
}

// of waits for the messages that belong to a result. A call that failed may have none.
func (n *news) of(ctx context.Context, r result) ([]string, error) {
	n.mu.Lock()
	last := n.last
	n.mu.Unlock()
	if !r.IsError {
		select {
		case <-last:
		case <-ctx.Done():
			return nil, &broken{errors.New("the progress of a call did not come to its end")}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.messages...), nil
}
