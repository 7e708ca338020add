package laptop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"sekisho/functions/internal/brake"
)

// serviceFile is where a data directory says which service runs on it. Only its owner can
// read it.
const serviceFile = "service.json"

// Running is a service as other processes of its owner see it.
type Running struct {
	Base string `json:"base"`
	// Token opens /_local/. Each start makes a new one.
	Token string `json:"token"`
}

// refused is an answer below /_local/ that is not 200.
type refused struct{ base, status, message string }

func (r *refused) Error() string {
	return fmt.Sprintf("the service at %s answers %s: %s", r.base, r.status, r.message)
}

// FindRunning returns the service that runs on a data directory; ok is false where there is
// none, which includes a file that a killed service left behind.
func FindRunning(ctx context.Context, data string) (r Running, ok bool, err error) {
	path := filepath.Join(data, serviceFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Running{}, false, nil
	}
	if err != nil {
		return Running{}, false, err
	}
	if err := json.Unmarshal(raw, &r); err != nil || r.Base == "" {
		return Running{}, false, fmt.Errorf("%s can't be read; stop the service, remove the file and start it again", path)
	}
	err = r.ask(ctx, http.MethodGet, "stage", nil, &struct{}{})
	var other *refused
	switch {
	case err == nil:
		return r, true, nil
	case errors.Is(err, syscall.ECONNREFUSED), errors.As(err, &other):
		// Nobody answers any more, or another program, or a service with another token.
		return Running{}, false, nil
	}
	return Running{}, false, fmt.Errorf("%w; if no service runs on %s, remove %s", err, data, path)
}

// Publish lets other processes find the service, until remove.
func (r Running) Publish(data string) (remove func(), err error) {
	path := filepath.Join(data, serviceFile)
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	raw = append(raw, '\n')
	return func() {
		if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, raw) {
			_ = os.Remove(path)
		}
	}, replaceFile(path, raw)
}

// Status of the service's brake.
func (r Running) Status(ctx context.Context) (s brake.Status, err error) {
	return s, r.ask(ctx, http.MethodGet, "brake", nil, &s)
}

// On puts the brake on, and returns when it is.
func (r Running) On(ctx context.Context, reason string) error {
	on := true
	return r.ask(ctx, http.MethodPost, "brake", BrakeOrder{On: &on, Reason: reason}, &brake.Status{})
}

// Off releases the brake, and returns when it is off.
func (r Running) Off(ctx context.Context) error {
	on := false
	return r.ask(ctx, http.MethodPost, "brake", BrakeOrder{On: &on}, &brake.Status{})
}

// askTimeout leaves the brake the minute that it has in AWS, too.
const askTimeout = 65 * time.Second

// ask makes one request below /_local/. The error of the service is passed on.
func (r Running) ask(ctx context.Context, method, what string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, r.Base+localPrefix+what, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+r.Token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask the service: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("ask the service: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		var said struct{ Message string }
		_ = json.Unmarshal(answer, &said) // another program says something else
		return &refused{r.Base, response.Status, said.Message}
	}
	return json.Unmarshal(answer, into)
}
