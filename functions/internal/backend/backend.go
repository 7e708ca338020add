// Package backend is what the relay knows of a service that somebody else wrote: where it is,
// how it is called, and how it learns who calls.
package backend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/ratelimit"
)

// Settings say how one backend is reached. They hold no secret, only where secrets are. One of
// URL and FunctionARN is set; with neither, the backend isn't configured yet.
type Settings struct {
	// Name is the backend's in the contract.
	Name string `json:"name,omitempty"`
	// URL is the address below which the paths of the contract lie.
	URL string `json:"url,omitempty"`
	// FunctionARN names a Lambda function that is invoked as API Gateway would: its ARN, or,
	// with Endpoint, its name.
	FunctionARN string `json:"function_arn,omitempty"`
	// Endpoint of the Lambda API, where it isn't the region's own: an emulator's.
	Endpoint string `json:"endpoint,omitempty"`
	// Auth is sent to the URL; nil sends nothing.
	Auth *Auth `json:"auth,omitempty"`
	// Signing is where the keys are with which the caller's identity is signed. Nil sends no
	// identity: an unsigned one would be believed.
	Signing *Place `json:"signing,omitempty"`
	// TimeoutSeconds bounds one attempt; 0 is outbound's default.
	TimeoutSeconds float64 `json:"timeout_seconds,omitempty"`
	// RatePerSecond and Burst bound the calls of all instances together; nil is no bound.
	RatePerSecond *float64 `json:"rate_per_second,omitempty"`
	Burst         int      `json:"burst,omitempty"`
	// PerDay bounds the calls of an operation that succeed on one UTC day, by all callers
	// together. It overrides what the contract says.
	PerDay map[string]int `json:"per_day,omitempty"`
	// MaxAnswerBytes bounds an answer; 0 is what the contract lets through.
	MaxAnswerBytes int64 `json:"max_answer_bytes,omitempty"`
	// Private lets the URL lead to a private or loopback address.
	Private bool `json:"private,omitempty"`
}

// The ways in which a credential is sent.
const (
	Bearer = "bearer" // Authorization: Bearer VALUE
	Header = "header" // Name: VALUE, or Name: Scheme VALUE
	Basic  = "basic"  // Authorization: Basic, of Name:VALUE, or of VALUE, which is user:password
	Query  = "query"  // ?Name=VALUE
)

// Auth is a credential: how it is sent and where it is.
type Auth struct {
	Type string `json:"type"`
	// Name of the header, of the query parameter, or of the user.
	Name string `json:"name,omitempty"`
	// Scheme stands before the value of a header, such as Token.
	Scheme string `json:"scheme,omitempty"`
	Place
}

// Place is where a secret is. One member is set.
type Place struct {
	// Parameter in Parameter Store, SecretARN in Secrets Manager.
	Parameter string `json:"parameter,omitempty"`
	SecretARN string `json:"secret_arn,omitempty"`
	// Env is a variable, and File a file, of the process that serves a laptop.
	Env  string `json:"env,omitempty"`
	File string `json:"file,omitempty"`
}

// DefaultBurst goes with a rate that has no burst of its own.
const DefaultBurst = 5

// Parse reads settings; "" are those of a backend that isn't configured.
func Parse(text string) (Settings, error) {
	var s Settings
	if text == "" {
		return s, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields() // a misspelt limit would be none
	if err := decoder.Decode(&s); err != nil {
		return s, fmt.Errorf("want a JSON object of a backend's settings: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return s, errors.New("something follows the JSON object")
	}
	return s, s.Check()
}

// String is the JSON that Parse reads.
func (s Settings) String() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // texts, numbers and booleans always encode
	return strings.TrimSpace(b.String())
}

// Configured reports whether there is anything to call.
func (s Settings) Configured() bool { return s.URL != "" || s.FunctionARN != "" }

// Timeout of one attempt; 0 where none is set.
func (s Settings) Timeout() time.Duration {
	return time.Duration(s.TimeoutSeconds * float64(time.Second))
}

// Limit is the token bucket; ok is false where there is none.
func (s Settings) Limit() (l ratelimit.Limit, ok bool) {
	if s.RatePerSecond == nil {
		return l, false
	}
	l = ratelimit.Limit{Burst: s.Burst, PerSecond: *s.RatePerSecond}
	if l.Burst == 0 {
		l.Burst = DefaultBurst
	}
	return l, true
}

// Check names the member that is wrong.
func (s Settings) Check() error {
	if s.URL != "" && s.FunctionARN != "" {
		return errors.New("url and function_arn: give one of them")
	}
	if s.URL != "" {
		if _, err := s.Base(); err != nil {
			return err
		}
	}
	if s.Endpoint != "" && s.FunctionARN == "" {
		return errors.New("endpoint: goes with function_arn only")
	}
	if s.Auth != nil {
		if s.FunctionARN != "" {
			return errors.New("auth: a function is invoked with the relay's own rights; leave it out")
		}
		if err := s.Auth.check(); err != nil {
			return fmt.Errorf("auth: %w", err)
		}
	}
	if s.Signing != nil {
		if err := s.Signing.check(); err != nil {
			return fmt.Errorf("signing: %w", err)
		}
	}
	if !(s.TimeoutSeconds >= 0 && s.TimeoutSeconds <= 900) {
		return fmt.Errorf("timeout_seconds: give 0 to 900, not %v", s.TimeoutSeconds)
	}
	if s.MaxAnswerBytes < 0 {
		return errors.New("max_answer_bytes: can't be negative")
	}
	return s.checkLimits()
}

func (s Settings) checkLimits() error {
	if l, ok := s.Limit(); ok {
		if err := l.Validate(); err != nil {
			return fmt.Errorf("rate_per_second, burst: %w", err)
		}
	} else if s.Burst != 0 {
		return errors.New("burst: goes with rate_per_second only")
	}
	for _, operation := range slices.Sorted(maps.Keys(s.PerDay)) {
		if n := s.PerDay[operation]; n < 0 {
			return fmt.Errorf("per_day: %s can't be %d", operation, n)
		}
	}
	return nil
}

// Base is the URL. It takes no credentials and no query: the environment, and a plan of
// Terraform, would show them in clear text.
func (s Settings) Base() (*url.URL, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, errors.New("url: want an http or https address without credentials, query and fragment, such as https://api.example.com/v2")
	}
	return u, nil
}

func (a Auth) check() error {
	if a.Scheme != "" && a.Type != Header {
		return fmt.Errorf("scheme: goes with the type %s only", Header)
	}
	switch a.Type {
	case Basic:
	case Bearer:
		if a.Name != "" {
			return fmt.Errorf("name: a bearer token has none; for a header of another name give the type %s", Header)
		}
	case Header, Query:
		if a.Name == "" {
			return fmt.Errorf("name: is missing; the type %s needs one", a.Type)
		}
	default:
		return fmt.Errorf("type: give %s, %s, %s or %s", Bearer, Header, Basic, Query)
	}
	if a.Type == Header && contract.ReservedHeader(a.Name) && !strings.EqualFold(a.Name, "Authorization") {
		return fmt.Errorf("name: the header %s can't carry a credential", a.Name)
	}
	return a.Place.check()
}

func (p Place) check() error {
	given := 0
	for _, member := range []string{p.Parameter, p.SecretARN, p.Env, p.File} {
		if member != "" {
			given++
		}
	}
	if given != 1 {
		return errors.New("say in one way where the secret is: parameter or secret_arn")
	}
	return nil
}
