// Package boot is what every function starts with: its environment, its logger, the version
// that it was built from, and Main, which serves it in Lambda. An error about the environment
// names the variable, what is wrong with it and what it takes.
package boot

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Names of the variables. Terraform sets them in AWS, `sekisho up` on a laptop.
const (
	AccountsTable       = "SEKISHO_ACCOUNTS_TABLE"
	UsageTable          = "SEKISHO_USAGE_TABLE"
	Plans               = "SEKISHO_PLANS"
	UpgradeURL          = "SEKISHO_UPGRADE_URL"
	KeyCacheSeconds     = "SEKISHO_KEY_CACHE_SECONDS"
	DenialMemorySeconds = "SEKISHO_DENIAL_MEMORY_SECONDS"
	AllowedOrigins      = "SEKISHO_ALLOWED_ORIGINS"
	ToolNames           = "SEKISHO_TOOL_NAMES"
	// MCPURL tells the page where MCP is, if it has a door of its own; "elsewhere" says only that it has.
	MCPURL        = "SEKISHO_MCP_URL"
	Listing       = "SEKISHO_LISTING"
	ListingTokens = "SEKISHO_LISTING_TOKENS"
	LogLevel      = "SEKISHO_LOG_LEVEL"

	// OAuthIssuer is whose tokens mcp takes at the OAuth door, instead of those of grants; one of
	// OAuthAudience must be theirs, and OAuthScope among their scopes if it is set. OAuthNewUserPlan
	// is the plan of the users that are made of unknown subjects; without it none are.
	OAuthIssuer      = "SEKISHO_OAUTH_ISSUER"
	OAuthAudience    = "SEKISHO_OAUTH_AUDIENCE"
	OAuthScope       = "SEKISHO_OAUTH_SCOPE"
	OAuthNewUserPlan = "SEKISHO_OAUTH_NEW_USER_PLAN"

	// Streaming says that the function is invoked for streams only, by a function URL or by a
	// REST API with response streaming.
	Streaming = "SEKISHO_STREAMING"
	// Dispatch is how mcp gets calls to their functions; see ParseDispatch. Functions are those that
	// it invokes itself: a JSON object of their names in AWS by the contract's.
	Dispatch  = "SEKISHO_DISPATCH"
	Functions = "SEKISHO_FUNCTIONS"
	// DispatchLogGroup is the log group of mcp, where it dispatches calls itself.
	DispatchLogGroup = "SEKISHO_DISPATCH_LOG_GROUP"

	// UsagePercent lists the percentages of a monthly limit whose crossing is announced, in
	// ascending order: "80,100". Without it nothing is announced.
	UsagePercent = "SEKISHO_USAGE_PERCENT"
	// UsageTopicARN is the SNS topic for it. Without one nothing is sent.
	UsageTopicARN = "SEKISHO_USAGE_TOPIC_ARN"

	// OAuthClients are pre-registered clients: a JSON object of their names and redirect URIs by ID.
	// OAuthClientHosts may vouch for clients by their documents, and OAuthRedirectHosts be answered by
	// clients that register themselves; without a list any host may. OAuthRegistration is "false"
	// where no client may register itself.
	OAuthClients       = "SEKISHO_OAUTH_CLIENTS"
	OAuthClientHosts   = "SEKISHO_OAUTH_CLIENT_HOSTS"
	OAuthRedirectHosts = "SEKISHO_OAUTH_REDIRECT_HOSTS"
	OAuthRegistration  = "SEKISHO_OAUTH_REGISTRATION"
	// OAuthAccessMinutes is how long an access token works, OAuthGrantDays how long a sign-in lasts.
	OAuthAccessMinutes = "SEKISHO_OAUTH_ACCESS_MINUTES"
	OAuthGrantDays     = "SEKISHO_OAUTH_GRANT_DAYS"
	// OAuthOwnMetadata is "true" where the metadata of OAuthIssuer is served here, completed.
	OAuthOwnMetadata = "SEKISHO_OAUTH_OWN_METADATA"

	// Backend is the JSON of a backend.Settings, for the function of a backend.
	Backend = "SEKISHO_BACKEND"

	BrakeFunctions     = "SEKISHO_BRAKE_FUNCTIONS"
	BrakeTopicARN      = "SEKISHO_BRAKE_TOPIC_ARN"
	BrakeAlarms        = "SEKISHO_BRAKE_ALARMS"
	BrakeBudget        = "SEKISHO_BRAKE_BUDGET"
	BrakeBudgetPercent = "SEKISHO_BRAKE_BUDGET_PERCENT"
	BrakeParameter     = "SEKISHO_BRAKE_PARAMETER"
	APIID              = "SEKISHO_API_ID"
	Stage              = "SEKISHO_STAGE"
)

// Env looks up one variable; "" when it is not set. os.Getenv is one.
type Env func(name string) string

// Map makes an Env of a map.
func Map(values map[string]string) Env { return func(name string) string { return values[name] } }

// Required returns a variable that must be set.
func (e Env) Required(name string) (string, error) {
	v := e(name)
	if v == "" {
		return "", fmt.Errorf("%s is not set", name)
	}
	return v, nil
}

// Seconds returns a number of seconds, 0 or more; decimals are allowed.
func (e Env) Seconds(name string, fallback time.Duration) (time.Duration, error) {
	n, err := e.Float(name, fallback.Seconds())
	return time.Duration(n * float64(time.Second)), err
}

// Float returns a number of 0 or more.
func (e Env) Float(name string, fallback float64) (float64, error) {
	v := e(name)
	if v == "" {
		return fallback, nil
	}
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n >= 0 && n <= 1e9) {
		return 0, fmt.Errorf("%s: want a number of 0 or more, not %q", name, v)
	}
	return n, nil
}

// Int returns a whole number of 0 or more.
func (e Env) Int(name string, fallback int) (int, error) {
	v := e(name)
	if v == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: want a whole number of 0 or more, not %q", name, v)
	}
	return n, nil
}

// List returns a comma-separated list without empty members.
func (e Env) List(name string) []string {
	var out []string
	for _, v := range strings.Split(e(name), ",") {
		if v = strings.TrimSpace(v); v != "" {
			out = append(out, v)
		}
	}
	return out
}

// Parse returns what parse makes of a variable, "" where it is not set.
func Parse[T any](env Env, name string, parse func(string) (T, error)) (T, error) {
	v, err := parse(env(name))
	if err != nil {
		return v, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// Switch returns true or false, and the fallback if the variable is not set.
func (e Env) Switch(name string, fallback bool) (bool, error) {
	switch v := e(name); v {
	case "":
		return fallback, nil
	case "true", "false":
		return v == "true", nil
	default:
		return false, fmt.Errorf("%s: want true or false, not %q", name, v)
	}
}

// Percentages returns a list of whole numbers from 1 to 100, empty if the variable is not set.
func (e Env) Percentages(name string) ([]int, error) {
	var percentages []int
	for _, text := range e.List(name) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 100 {
			return nil, fmt.Errorf("%s: want whole numbers from 1 to 100, separated by commas, not %q", name, text)
		}
		percentages = append(percentages, n)
	}
	return percentages, nil
}

// URL returns an absolute http or https URL, "" when it is not set. It must need no
// escaping within JSON, because gateway responses substitute it as it is.
func (e Env) URL(name string) (string, error) {
	v := e(name)
	if v == "" {
		return "", nil
	}
	u, err := url.Parse(v)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
		return "", fmt.Errorf("%s: want an absolute URL such as https://example.com/plans, not %q", name, v)
	}
	for _, r := range v {
		if r <= ' ' || r > '~' || strings.ContainsRune("\"\\<>", r) {
			return "", fmt.Errorf("%s: percent-encode the character %q", name, r)
		}
	}
	return v, nil
}

// Names returns a JSON object of texts, empty if the variable is not set.
func (e Env) Names(name string) (map[string]string, error) {
	names := map[string]string{}
	if v := e(name); v != "" && json.Unmarshal([]byte(v), &names) != nil {
		return nil, fmt.Errorf("%s: want a JSON object of texts, not %q", name, v)
	}
	return names, nil
}
