package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"sekisho/functions/internal/brake"
	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/laptop"
)

// laptopBrake is the brake of a `sekisho up` in another process. A command writes what it wants
// into the data, and the service, which looks several times a second, does it.
type laptopBrake struct {
	data   string
	memory brake.Memory
	// service is nil while none runs.
	service *runningService
}

// laptopStage is the stage's name of `sekisho up`.
const laptopStage = "local"

// brakeWait is how long a command waits for the service to do what it wants.
const brakeWait = 30 * time.Second

func (f brakeFlags) onLaptop(ctx context.Context) (brakes, func() error, error) {
	st, err := storeFlags{Data: f.Data}.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	l := laptopBrake{data: f.Data, memory: st.Brake(laptop.BrakeName(laptopStage))}
	if l.service, err = findService(ctx, f.Data); err != nil {
		return nil, nil, errors.Join(err, st.close())
	}
	return l, st.close, nil
}

func (l laptopBrake) Command(name string) string {
	return "sekisho brake " + name + " --data " + l.data
}

func (l laptopBrake) Status(ctx context.Context) (brake.Status, error) {
	if l.service == nil {
		return l.remembered(ctx)
	}
	functions, err := l.service.functions(ctx)
	if err != nil {
		return brake.Status{}, err
	}
	api, err := contract.Load()
	if err != nil {
		return brake.Status{}, err
	}
	b := brake.Brake{Functions: laptop.Braked(api, functions), Memory: l.memory, Ceilings: l.service, Switch: l.service}
	return b.Status(ctx)
}

// remembered is the status without a service: what it will start with.
func (l laptopBrake) remembered(ctx context.Context) (brake.Status, error) {
	s, err := l.memory.Load(ctx)
	if err != nil {
		return brake.Status{}, err
	}
	status := s.Describe(s.Phase == brake.On || s.Phase == brake.Braking)
	for _, name := range slices.Sorted(maps.Keys(s.Previous)) {
		if n := s.Previous[name]; s.Phase != brake.Off {
			status.Functions = append(status.Functions, brake.FunctionStatus{Name: name, Before: &n})
		}
	}
	return status, nil
}

func (l laptopBrake) On(ctx context.Context, cause brake.Cause) error { return l.ask(ctx, true, cause) }

func (l laptopBrake) Off(ctx context.Context) error { return l.ask(ctx, false, brake.Cause{}) }

func (l laptopBrake) ask(ctx context.Context, on bool, cause brake.Cause) error {
	if err := brake.Ask(ctx, l.memory, on, cause, time.Now().UTC()); err != nil {
		return err
	}
	if l.service == nil {
		return l.settleAlone(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, brakeWait, fmt.Errorf("the service at %s did not do it within %s; its log says why: %s", l.service.base, brakeWait, filepath.Join(l.data, "log.jsonl")))
	defer cancel()
	for {
		s, err := l.memory.Load(ctx)
		if err == nil && (s.Phase == brake.On || s.Phase == brake.Off) {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// settleAlone takes note of a release where no service runs: the next one starts with the
// ceilings that it is told to have.
func (l laptopBrake) settleAlone(ctx context.Context) error {
	s, err := l.memory.Load(ctx)
	if err != nil || s.Phase != brake.Releasing {
		return err
	}
	s.Phase = brake.Off
	if _, err = l.memory.Save(ctx, s); errors.Is(err, brake.ErrChanged) {
		return nil // a service has started, and did it
	}
	return err
}

func (l laptopBrake) Note() string {
	if l.service != nil {
		return ""
	}
	return "No service runs on " + l.data + "; the next one starts like this."
}

// serviceFile tells other processes where the service of a directory is.
const serviceFile = "service.json"

// runningService is a `sekisho up` as other processes see it. It can be looked at, not
// changed.
type runningService struct{ base string }

// findService returns nil where no service runs: there is no file, or one that a service
// left behind that was killed.
func findService(ctx context.Context, data string) (*runningService, error) {
	raw, err := os.ReadFile(filepath.Join(data, serviceFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var file struct {
		Base string `json:"base"`
	}
	if err := json.Unmarshal(raw, &file); err != nil || file.Base == "" {
		return nil, badUsage(fmt.Errorf("%s can't be read; stop the service, remove the file and start it again", filepath.Join(data, serviceFile)))
	}
	s := &runningService{file.Base}
	if err := s.get(ctx, "stage", &struct{}{}); err != nil {
		return nil, nil //nolint:nilerr // nobody is there any more
	}
	return s, nil
}

// writeServiceFile is undone by the function that it returns.
func writeServiceFile(data, base string) (remove func(), err error) {
	path := filepath.Join(data, serviceFile)
	raw, err := json.Marshal(map[string]string{"base": base})
	if err != nil {
		return nil, err
	}
	return func() { _ = os.Remove(path) }, os.WriteFile(path, append(raw, '\n'), 0o600)
}

func (s *runningService) get(ctx context.Context, what string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/_local/"+what, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask the service: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask the service: %s", response.Status)
	}
	return json.NewDecoder(response.Body).Decode(into)
}

func (s *runningService) reserved(ctx context.Context) (map[string]int, error) {
	var functions map[string]struct {
		Reserved int `json:"reserved_concurrency"`
	}
	if err := s.get(ctx, "functions", &functions); err != nil {
		return nil, err
	}
	reserved := map[string]int{}
	for name, f := range functions {
		reserved[name] = f.Reserved
	}
	return reserved, nil
}

func (s *runningService) functions(ctx context.Context) ([]string, error) {
	reserved, err := s.reserved(ctx)
	return slices.Sorted(maps.Keys(reserved)), err
}

func (s *runningService) Reserved(ctx context.Context, function string) (int, error) {
	reserved, err := s.reserved(ctx)
	if err != nil {
		return 0, err
	}
	n, ok := reserved[function]
	if !ok {
		return 0, brake.ErrNoFunction
	}
	return n, nil
}

func (s *runningService) Braked(ctx context.Context) (bool, error) {
	var live struct {
		Variables map[string]string `json:"variables"`
	}
	if err := s.get(ctx, "stage", &live); err != nil {
		return false, err
	}
	api, err := contract.Load()
	if err != nil {
		return false, err
	}
	return brake.Says(live.Variables, api.StageVariables), nil
}

// errLookOnly: the service changes itself.
var errLookOnly = errors.New("a service in another process can only be looked at")

func (s *runningService) SetReserved(context.Context, string, int) error { return errLookOnly }

func (s *runningService) SetBraked(context.Context, bool) error { return errLookOnly }
