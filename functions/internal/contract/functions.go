package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Function is what a Lambda runs with, as the table of functions says.
type Function struct {
	MemoryMB int64
	Timeout  time.Duration
	// Braked says whether the spending brake may stop it.
	Braked bool
	// SparedIn is the one way of dispatching calls in which the brake leaves it alone all the same,
	// "" where there is none.
	SparedIn string
	// Binary is the program that it runs, dist/BINARY.zip; "" means the one of its own name.
	Binary string
}

// BrakedIn says whether the spending brake may stop the function where mcp dispatches calls so.
func (f Function) BrakedIn(dispatch string) bool { return f.Braked && f.SparedIn != dispatch }

// Limits of Lambda (docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
const (
	MinMemoryMB, MaxMemoryMB = 128, 10_240
	MaxTimeout               = 15 * time.Minute
)

// functionTable is the contract's table: entries by name, and what the others run with.
type functionTable struct {
	named    map[string]Function
	fallback Function
}

// Function is what the function of a name runs with. A description without the table, such
// as the projection that API Gateway is given, has only zeros.
func (a *API) Function(name string) Function {
	if f, ok := a.functions.named[name]; ok {
		return f
	}
	return a.functions.fallback
}

// Binary is the program of a function.
func (a *API) Binary(name string) string { return cmp.Or(a.Function(name).Binary, name) }

// AllFunctions lists the functions that serve operations and those of the table, in order.
func (a *API) AllFunctions() []string {
	names := slices.AppendSeq(a.Functions(), maps.Keys(a.functions.named))
	slices.Sort(names)
	return slices.Compact(names)
}

// NeverBraked lists the functions that the spending brake must leave alone, in order.
func (a *API) NeverBraked() []string {
	return slices.DeleteFunc(a.AllFunctions(), func(name string) bool { return a.Function(name).Braked })
}

// fallbackName is the entry that the others start from.
const fallbackName = "default"

// rawFunction keeps nil apart from zero: what an entry leaves out is the default's.
type rawFunction struct {
	MemoryMB       *int64 `json:"memory_mb"`
	TimeoutSeconds *int64 `json:"timeout_seconds"`
	Braked         *bool  `json:"braked"`
	SparedIn       string `json:"spared_in"`
	Binary         string `json:"binary"`
}

func (a *API) addFunctions(table map[string]json.RawMessage) error {
	if table == nil {
		return nil
	}
	var fallback rawFunction
	if err := decodeStrictly(table[fallbackName], &fallback); err != nil {
		return fmt.Errorf("%s: %w", fallbackName, err)
	}
	if fallback.Binary != "" {
		return errors.New("default: each function says its binary itself; take this one out")
	}
	if fallback.MemoryMB == nil || fallback.TimeoutSeconds == nil || fallback.Braked == nil {
		return errors.New("default must say memory_mb, timeout_seconds and braked: other entries start from it")
	}
	a.functions.named = map[string]Function{}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		var entry rawFunction
		if err := decodeStrictly(table[name], &entry); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		f, err := entry.over(fallback)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if name == fallbackName {
			a.functions.fallback = f
			continue
		}
		a.functions.named[name] = f
	}
	return a.checkFunctions()
}

// decodeStrictly refuses members that it does not know: a misspelt one would be the default.
func decodeStrictly(raw json.RawMessage, into any) error {
	if raw == nil {
		return errors.New("is missing")
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// over takes what the entry leaves out from the fallback, which is complete.
func (r rawFunction) over(fallback rawFunction) (Function, error) {
	memory := *cmp.Or(r.MemoryMB, fallback.MemoryMB)
	timeout := *cmp.Or(r.TimeoutSeconds, fallback.TimeoutSeconds)
	if memory < MinMemoryMB || memory > MaxMemoryMB {
		return Function{}, fmt.Errorf("memory_mb takes %d to %d, not %d", MinMemoryMB, MaxMemoryMB, memory)
	}
	if most := int64(MaxTimeout / time.Second); timeout < 1 || timeout > most {
		return Function{}, fmt.Errorf("timeout_seconds takes 1 to %d, not %d", most, timeout)
	}
	return Function{
		MemoryMB: memory, Timeout: time.Duration(timeout) * time.Second, Braked: *cmp.Or(r.Braked, fallback.Braked),
		SparedIn: r.SparedIn, Binary: r.Binary,
	}, nil
}

// checkFunctions: the brake stops functions that serve operations or routes of the OAuth door; a named
// one that serves neither is a misspelt one.
func (a *API) checkFunctions() error {
	serving := a.Functions()
	for _, route := range a.OAuthRoutes {
		serving = append(serving, route.Function)
	}
	if slices.Contains(serving, fallbackName) {
		return fmt.Errorf("no function may be called %s", fallbackName)
	}
	for name, f := range a.functions.named {
		if f.Braked && !slices.Contains(serving, name) {
			return fmt.Errorf("%s serves no operation: misspelt, or add braked: false", name)
		}
	}
	return nil
}
