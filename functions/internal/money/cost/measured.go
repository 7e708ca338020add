package cost

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:generate go test -count=1 -timeout 10m -run TestMeasured . -update
//go:generate go test -count=1 -run "TestPicture|TestREADMEFigures" . -update

//go:embed measured.json
var measured []byte

// Outcome is what became of a call.
type Outcome string

// The outcomes of a call.
const (
	// Admitted calls succeeded.
	Admitted Outcome = "admitted"
	// Failed calls were admitted and got their unit back.
	Failed Outcome = "failed"
	// Denied calls were over the limit.
	Denied Outcome = "denied"
)

// Via is how a call comes in: straight to the REST API, or by MCP in one of the topologies.
type Via string

// The ways in. Topologies are named by how mcp gets a call to its function, and by its door.
const (
	// MCP goes through the REST API twice: to mcp, and from mcp with the caller's key.
	MCP Via = "mcp"
	// DirectHTTP and DirectURL: mcp admits the call and invokes the function. Calls reach it by an
	// HTTP API or by a function URL.
	DirectHTTP Via = "mcp direct-http"
	DirectURL  Via = "mcp direct-url"
	// OAuth is DirectHTTP with an access token in place of a key, by the OAuth door.
	OAuth Via = "mcp oauth"
	REST  Via = "rest"
)

// Ways lists them all.
var Ways = []Via{MCP, DirectHTTP, DirectURL, OAuth, REST}

// Topologies of a stack, which the OAuth door is beside.
var Topologies = []Via{MCP, DirectHTTP, DirectURL}

// proxy is the topology of MCP.
const proxy = "proxy"

// ViaTopology is the way by MCP in a topology (proxy, direct-http or direct-url) or by oauth. A way that there
// is not is one that ParseTraffic refuses.
func ViaTopology(topology string) Via {
	if topology == proxy {
		return MCP
	}
	return MCP + " " + Via(topology)
}

// Split returns mcp or rest, and the topology; a REST call is the same in all, so it has none.
func (v Via) Split() (way, topology string) {
	way, topology, _ = strings.Cut(string(v), " ")
	if v == MCP {
		topology = proxy
	}
	return way, topology
}

func (v Via) direct() bool { return v == DirectHTTP || v == DirectURL || v == OAuth }

// State is what the instance that serves a call knows of it.
type State string

// Reports price cold calls, which cost the most.
const (
	Cold State = ""
	// Warm: the instance had seen the key seconds before, so that it had the key, and a denial, in
	// memory.
	Warm State = "warm"
	// Burst: warm, and in such quick succession that settle got a hundred records in two deliveries.
	Burst State = "burst"
)

// Kind of a call that was measured.
type Kind struct {
	Outcome Outcome
	Via     Via
	State   State
}

// Visit is how often a browser has been at the page for key holders.
type Visit string

// The visits. Both show the usage of a key.
const (
	// FirstVisit downloads everything.
	FirstVisit Visit = "first visit"
	// LaterVisit has the files, and asks whether the page is still the same.
	LaterVisit Visit = "later visit"
)

// Visits lists both.
func Visits() []Visit { return []Visit{FirstVisit, LaterVisit} }

// SignIns are the visits of the OAuth door that a host makes for a person: to sign in, with what it asks
// for before, and whenever its access token has expired.
const (
	SignIn  Visit = "sign-in"
	Refresh Visit = "refresh"
)

// SignIns lists both.
func SignIns() []Visit { return []Visit{SignIn, Refresh} }

// String is the kind's name in measured.json.
func (k Kind) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", k.Outcome, k.Via, k.State))
}

// Kinds lists all that are measured.
func Kinds() []Kind {
	var kinds []Kind
	for _, outcome := range []Outcome{Admitted, Failed, Denied} {
		for _, via := range Ways {
			kinds = append(kinds, Kind{outcome, via, Cold}, Kind{outcome, via, Warm})
			if outcome == Denied {
				kinds = append(kinds, Kind{outcome, via, Burst})
			}
		}
	}
	return kinds
}

// Counts are what a number of calls made the service do, in total.
type Counts struct {
	// Calls is how many calls, or visits, were made.
	Calls int64 `json:"calls"`
	// BilledRequests to the REST API: two for a call over MCP by proxy, one for a REST call or a file of
	// the page; but one that the authorizer denies is not billed.
	BilledRequests int64 `json:"billed_requests"`
	// HTTPRequests to an HTTP API, which bills each that matches a route.
	HTTPRequests int64 `json:"http_requests"`
	// Invocations of functions: authorizer, mcp, settle, oauth, and business for all others.
	Invocations map[string]int64 `json:"invocations"`
	// ReadUnits and WriteUnits of DynamoDB, computed from the items' sizes.
	ReadUnits  int64 `json:"read_units"`
	WriteUnits int64 `json:"write_units"`
	// AccessLogBytes and FunctionLogBytes go to CloudWatch Logs.
	AccessLogBytes   int64 `json:"access_log_bytes"`
	FunctionLogBytes int64 `json:"function_log_bytes"`
	// AnswerBytes go back to the caller, headers included.
	AnswerBytes int64 `json:"answer_bytes"`
}

// mcpDirect is mcp where it dispatches calls itself, as far as that takes another time.
const (
	mcpFunction = "mcp"
	mcpDirect   = "mcp direct"
)

// Functions of the model, in the order in which a call reaches them. SignInFunction is none of them: no
// call starts it.
var Functions = []string{"authorizer", mcpFunction, "business", "settle"}

// SignInFunction serves the OAuth door but for /mcp.
const SignInFunction = "oauth"

// timed are those that have a duration and a memory of their own.
func timed() []string { return append(slices.Clone(Functions), SignInFunction) }

// Measurement is the content of measured.json.
type Measurement struct {
	Note string `json:"note"`
	// LaptopMS are the functions' median durations on the machine that measured, in
	// milliseconds, rounded up as Lambda does. Where mcp dispatches calls itself, it is mcpDirect.
	LaptopMS map[string]int64  `json:"laptop_ms"`
	Kinds    map[string]Counts `json:"kinds"`
	Visits   map[Visit]Counts  `json:"visits"`
}

// Load returns the embedded measurement.
func Load() (*Measurement, error) {
	var m Measurement
	d := json.NewDecoder(bytes.NewReader(measured))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("measured.json: %w", err)
	}
	for _, kind := range Kinds() {
		if m.Kinds[kind.String()].Calls < 1 {
			return nil, fmt.Errorf("measured.json: %q is missing among %v", kind, slices.Sorted(maps.Keys(m.Kinds)))
		}
	}
	for _, visit := range append(Visits(), SignIns()...) {
		if m.Visits[visit].Calls < 1 {
			return nil, fmt.Errorf("measured.json: %q is missing among the visits", visit)
		}
	}
	for _, name := range append([]string{mcpDirect}, Functions...) {
		if m.LaptopMS[name] < 1 {
			return nil, fmt.Errorf("measured.json: no duration of %s", name)
		}
	}
	return &m, nil
}

// Of returns the counts of a kind.
func (m *Measurement) Of(k Kind) Counts { return m.Kinds[k.String()] }
