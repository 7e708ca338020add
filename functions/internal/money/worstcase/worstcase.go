// Package worstcase computes the most that an hour can cost, from the ceilings alone: what is
// spent if every ceiling is reached at once and stays reached. modules/worst_case computes the
// same sums in Terraform, where they are outputs; here they come with their arithmetic. A test
// holds both equal.
package worstcase

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"sekisho/functions/internal/contract"
)

// Ceilings are what Terraform gives out as `ceilings`.
type Ceilings struct {
	// Prices in US dollars for one, by the names of the table of prices; Note says where they hold.
	Prices    map[string]float64  `json:"prices"`
	Note      string              `json:"note"`
	Throttle  Throttle            `json:"throttle"`
	Functions map[string]Function `json:"functions"`
	Tables    map[string]Units    `json:"tables"`
	// Unreserved is the concurrency that the account has left for functions that reserve none.
	Unreserved float64 `json:"unreserved_concurrency"`
	// Braked are the functions that the brake stops.
	Braked []string `json:"braked"`
	Trip   Trip     `json:"trip"`
	// Door is what /mcp is reached by; the zero Door is the REST API.
	Door Door `json:"door"`
	// OAuthRoutes are those of an OAuth door beside it, an HTTP API too; none without one.
	OAuthRoutes map[string]OAuthRoute `json:"oauth_routes"`
	// Dispatch is direct where mcp invokes the functions of tools by itself.
	Dispatch string `json:"dispatch"`
}

// Door is http, an HTTP API with a throttle on each of its routes; url, a function URL; or the REST
// API, whose methods are the contract's.
type Door struct {
	Kind   string   `json:"kind"`
	Routes []string `json:"routes"`
	Throttle
}

// OAuthRoute leads to a function of any kind.
type OAuthRoute struct {
	Function string `json:"function"`
	Throttle
}

// Throttle of each method; below 0 for none.
type Throttle struct {
	RatePerSecond float64 `json:"rate_per_second"`
	Burst         float64 `json:"burst"`
}

func (t Throttle) unbounded() bool { return t.RatePerSecond < 0 || t.Burst < 0 }

// perHour is the calls that one method or route lets through.
func (t Throttle) perHour() float64 { return t.RatePerSecond*3600 + t.Burst }

// Function is what a function runs with.
type Function struct {
	// StartedBy is authorizer, log, messages, or oauth for one that only the OAuth door leads to;
	// anything else means by its methods, and proxy that it is mcp, which starts those of api.
	StartedBy    string  `json:"started_by"`
	MemoryMB     float64 `json:"memory_mb"`
	Timeout      float64 `json:"timeout_seconds"`
	Architecture string  `json:"architecture"`
	// Reserved concurrency, below 0 for none.
	Reserved float64 `json:"reserved_concurrency"`
}

// Units per second that a table grants; nil for no ceiling.
type Units struct {
	Read  *float64 `json:"read"`
	Write *float64 `json:"write"`
}

// Trip is when the brake comes.
type Trip struct {
	USDPerHour   float64 `json:"usd_per_hour"`
	DelaySeconds float64 `json:"delay_seconds"`
	How          string  `json:"how"`
}

// Hour is the worst one in a state of the service.
type Hour struct {
	Parts []Part
	// USD is the sum of the parts.
	USD float64
}

// Part is one line of the sum, with its arithmetic.
type Part struct {
	Name, How string
	USD       float64
}

// Report is the worst hour, as it is and while the brake is on.
type Report struct {
	Open, Braked Hour
	Trip         Trip
	Note         string
}

// BeforeBrake is the most that is spent until the brake has stopped a runaway; ok is false if
// the ceilings keep spending below the alarm, so that it never trips.
func (r Report) BeforeBrake() (usd float64, ok bool) {
	return r.Open.USD * r.Trip.DelaySeconds / 3600, r.Open.USD > r.Trip.USDPerHour
}

//go:embed most.json
var mostJSON []byte

// most is what one request can come to at the most, and the account's own limits. most.json
// gives the reasons; Terraform reads it too.
type most map[string]float64

func loadMost(api *contract.API) (most, error) {
	var rows map[string]struct {
		Value float64
		Why   string
	}
	if err := json.Unmarshal(mostJSON, &rows); err != nil {
		return nil, fmt.Errorf("most.json: %w", err)
	}
	m := most{"answer_bytes": float64(api.Limits.AnswerBytes)}
	for name, row := range rows {
		m[name] = row.Value
	}
	return m, nil
}

// ErrUnbounded means that there is no figure without a throttle.
var ErrUnbounded = errors.New("unbounded: set api.throttle.rate_per_second and api.throttle.burst")

// Of computes the report for the operations of a contract.
func Of(c Ceilings, api *contract.API) (Report, error) {
	m, err := loadMost(api)
	if err != nil {
		return Report{}, err
	}
	if c.Throttle.unbounded() || c.Door.Kind == "http" && c.Door.unbounded() {
		return Report{}, ErrUnbounded
	}
	for _, route := range c.OAuthRoutes {
		if route.unbounded() {
			return Report{}, ErrUnbounded
		}
	}
	r := Report{Trip: c.Trip, Note: c.Note}
	for braked, hour := range map[bool]*Hour{false: &r.Open, true: &r.Braked} {
		s := sum{ceilings: c, most: m, hour: hour, braked: braked}
		s.count(api)
		if err := s.add(); err != nil {
			return Report{}, err
		}
	}
	return r, nil
}

// sum adds up one hour.
type sum struct {
	ceilings Ceilings
	most     most
	hour     *Hour
	// methods that let calls through, all together, and those that ask for a key.
	methods, keyed float64
	// behind is the methods of each function.
	behind map[string]float64
	// braked: the brake is on.
	braked bool
}

// count counts the methods as API Gateway throttles them: ANY is a method for each verb.
// What mcp serves is not among them where it has another door.
func (s *sum) count(api *contract.API) {
	s.behind = map[string]float64{}
	for _, m := range api.Methods() {
		op := m.Operation
		if s.braked && op.Braked || s.stopped(op.Function) {
			continue
		}
		if s.otherDoor() && s.isMCP(op.Function) {
			continue
		}
		s.methods++
		if !op.Public {
			s.keyed++
		}
		s.behind[op.Function]++
	}
}

// stopped: the brake keeps a function from running.
func (s *sum) stopped(function string) bool {
	return s.braked && slices.Contains(s.ceilings.Braked, function)
}

func (s *sum) otherDoor() bool {
	return s.ceilings.Door.Kind == "http" || s.ceilings.Door.Kind == "url"
}

func (s *sum) isMCP(function string) bool { return s.ceilings.Functions[function].StartedBy == "proxy" }

// mcp is the function that the door leads to; "" if there is none.
func (s *sum) mcp() string {
	for _, role := range slices.Sorted(maps.Keys(s.ceilings.Functions)) {
		if s.isMCP(role) {
			return role
		}
	}
	return ""
}

// perMethod is the calls that one method lets through.
func (s *sum) perMethod() float64 { return s.ceilings.Throttle.perHour() }

// mcpPlaces is the most of mcp at a time.
func (s *sum) mcpPlaces() float64 {
	if f := s.ceilings.Functions[s.mcp()]; f.Reserved >= 0 {
		return f.Reserved
	}
	return s.ceilings.Unreserved
}

// urlPerPlace is how many requests a second a function URL takes for each place of its function
// (https://docs.aws.amazon.com/lambda/latest/dg/urls-configuration.html).
const urlPerPlace = 10

// atDoor is the calls that the door lets through.
func (s *sum) atDoor() float64 {
	switch s.ceilings.Door.Kind {
	case "http":
		return float64(len(s.ceilings.Door.Routes)) * s.ceilings.Door.perHour()
	case "url":
		return urlPerPlace * s.mcpPlaces() * 3600
	}
	return 0
}

// served is how many of them start mcp: all of them, or none while the brake keeps it from running.
func (s *sum) served() float64 {
	if s.stopped(s.mcp()) {
		return 0
	}
	return s.atDoor()
}

// atOAuthDoor is the calls that the OAuth door lets through, and served those that start a function.
func (s *sum) atOAuthDoor() (all, served float64) {
	for _, name := range slices.Sorted(maps.Keys(s.ceilings.OAuthRoutes)) {
		route := s.ceilings.OAuthRoutes[name]
		all += route.perHour()
		if !s.stopped(route.Function) {
			served += route.perHour()
		}
	}
	return all, served
}

// startedByOAuth is how many of them start one function.
func (s *sum) startedByOAuth(role string) (starts float64) {
	for _, route := range s.ceilings.OAuthRoutes {
		if route.Function == role && !s.stopped(role) {
			starts += route.perHour()
		}
	}
	return starts
}

// mcpStarts in the hour.
func (s *sum) mcpStarts() float64 {
	return s.served() + s.behind[s.mcp()]*s.perMethod() + s.startedByOAuth(s.mcp())
}

// dispatched is how many invocations mcp makes by itself, of all functions together, and so the
// most that it makes of one.
func (s *sum) dispatched() float64 {
	if s.ceilings.Dispatch != "direct" {
		return 0
	}
	return s.mcpStarts()
}

func (s *sum) part(name string, usd float64, how string, values ...any) {
	for i, v := range values {
		if n, ok := v.(float64); ok {
			values[i] = number(n)
		}
	}
	s.hour.Parts = append(s.hour.Parts, Part{Name: name, How: fmt.Sprintf(how, values...), USD: usd})
	s.hour.USD += usd
}

const gb = 1_000_000_000

func (s *sum) add() error {
	price, err := s.prices()
	if err != nil {
		return err
	}
	t, rest := s.ceilings.Throttle, s.methods*s.perMethod()
	s.part("gateway", rest*price["apigateway_rest_request"], "%v methods × (%v per second × 3600 s + %v at once) = %v requests × %v",
		s.methods, t.RatePerSecond, t.Burst, rest, price["apigateway_rest_request"])
	s.addDoor(price)
	atOAuth, servedByOAuth := s.atOAuthDoor()
	requests := rest + s.served() + servedByOAuth
	s.part("logs", requests*s.most["log_bytes"]/gb*price["logs_ingested_gb"], "%v requests × %v bytes × %v a GB", requests, s.most["log_bytes"], price["logs_ingested_gb"])
	s.part("answers", requests*s.most["answer_bytes"]/gb*price["data_out_gb"], "%v requests × %v bytes × %v a GB", requests, s.most["answer_bytes"], price["data_out_gb"])

	all := s.most["account_per_second"]*3600 + s.most["account_burst"]
	refused := max(0, all-rest-atOAuth)
	if s.ceilings.Door.Kind == "http" {
		refused = max(0, all-rest-atOAuth-s.atDoor())
	}
	s.part("refused requests", refused*(s.most["record_bytes"]*price["logs_ingested_gb"]+s.most["refusal_bytes"]*price["data_out_gb"])/gb,
		"%v per second in the account × 3600 s + %v at once, less those above = %v × (a record of %v bytes × %v a GB + an answer of %v bytes × %v a GB)",
		s.most["account_per_second"], s.most["account_burst"], refused, s.most["record_bytes"], price["logs_ingested_gb"], s.most["refusal_bytes"], price["data_out_gb"])

	for _, kind := range []string{"write", "read"} {
		s.addUnits(kind, requests, price["dynamodb_"+kind+"_unit"])
	}
	s.addFunctions(price)
	return nil
}

// addDoor prices what reaches the doors. A call that no function serves is billed like any other, and
// gets a refusal.
func (s *sum) addDoor(price map[string]float64) {
	d := s.ceilings.Door
	unserved := s.atDoor() - s.served()
	refusals := unserved * s.most["refusal_bytes"] / gb * price["data_out_gb"]
	switch d.Kind {
	case "http":
		each := price["apigateway_http_request"]
		s.part("HTTP API", s.atDoor()*each+refusals, "%v routes × (%v per second × 3600 s + %v at once) = %v requests × %v + %v refused × %v bytes × %v a GB",
			float64(len(d.Routes)), d.RatePerSecond, d.Burst, s.atDoor(), each, unserved, s.most["refusal_bytes"], price["data_out_gb"])
	case "url":
		s.part("function URL", refusals, "%v × %v places × 3600 s = %v requests × 0 + %v refused × %v bytes × %v a GB",
			float64(urlPerPlace), s.mcpPlaces(), s.atDoor(), unserved, s.most["refusal_bytes"], price["data_out_gb"])
	}
	if all, served := s.atOAuthDoor(); all > 0 {
		each := price["apigateway_http_request"]
		s.part("OAuth door", all*each+(all-served)*s.most["refusal_bytes"]/gb*price["data_out_gb"],
			"%v routes, each by its throttle: %v requests × %v + %v refused × %v bytes × %v a GB",
			float64(len(s.ceilings.OAuthRoutes)), all, each, all-served, s.most["refusal_bytes"], price["data_out_gb"])
	}
}

// prices are all that are needed.
func (s *sum) prices() (map[string]float64, error) {
	needed := []string{"apigateway_rest_request", "lambda_request", "logs_ingested_gb", "data_out_gb", "dynamodb_write_unit", "dynamodb_read_unit"}
	if s.ceilings.Door.Kind == "http" || len(s.ceilings.OAuthRoutes) > 0 {
		needed = append(needed, "apigateway_http_request")
	}
	for _, f := range s.ceilings.Functions {
		needed = append(needed, "lambda_"+f.Architecture+"_gb_second")
	}
	for _, name := range needed {
		if _, ok := s.ceilings.Prices[name]; !ok {
			return nil, fmt.Errorf("ceilings: there is no price %s", name)
		}
	}
	return s.ceilings.Prices, nil
}

// addUnits: what the calls can want, or what the tables grant if that is less. One table
// without a ceiling leaves all of them without one.
func (s *sum) addUnits(kind string, requests, price float64) {
	each := s.most[kind+"_units"]
	units, granted, how := requests*each, 0.0, []string{}
	for _, role := range slices.Sorted(maps.Keys(s.ceilings.Tables)) {
		perSecond := map[string]*float64{"read": s.ceilings.Tables[role].Read, "write": s.ceilings.Tables[role].Write}[kind]
		if perSecond == nil {
			granted = math.Inf(1)
			break
		}
		granted += *perSecond * 3600
		how = append(how, number(*perSecond))
	}
	if granted < units {
		s.part("DynamoDB "+kind+"s", granted*price, "(%s) units per second × 3600 s × %v", strings.Join(how, " + "), price)
		return
	}
	s.part("DynamoDB "+kind+"s", units*price, "%v requests × %v units × %v", requests, each, price)
}

// addFunctions lets each function run until its timeout, in the places that it has: reserved
// ones, or what the account has left, which the most expensive take first.
func (s *sum) addFunctions(price map[string]float64) {
	left := s.ceilings.Unreserved
	for _, role := range s.byExpense() {
		f := s.ceilings.Functions[role]
		if f.StartedBy == "messages" { // which come one by one
			second := f.MemoryMB / 1024 * price["lambda_"+f.Architecture+"_gb_second"]
			s.part("function "+role, 3600*second, "messages come one by one: 3600 s × %v GB × %v", f.MemoryMB/1024, price["lambda_"+f.Architecture+"_gb_second"])
			continue
		}
		starts := s.starts(role)
		running, how := s.running(role)
		wanted, places := running/3600, f.Reserved
		which := "reserved"
		if f.Reserved < 0 {
			places, which = left, "left in the account"
			left = max(0, left-wanted)
		}
		seconds := running
		if places < wanted {
			seconds, how = places*3600, fmt.Sprintf("%s places %s × 3600 s", number(places), which)
		}
		s.part("function "+role, seconds*f.MemoryMB/1024*price["lambda_"+f.Architecture+"_gb_second"]+starts*price["lambda_request"],
			"%s × %v GB × %v + %v starts × %v", how, f.MemoryMB/1024, price["lambda_"+f.Architecture+"_gb_second"], starts, price["lambda_request"])
	}
}

// byExpense are the functions, the one with the most expensive second first.
func (s *sum) byExpense() []string {
	second := func(role string) float64 {
		f := s.ceilings.Functions[role]
		return f.MemoryMB * s.ceilings.Prices["lambda_"+f.Architecture+"_gb_second"]
	}
	return slices.SortedFunc(maps.Keys(s.ceilings.Functions), func(a, b string) int {
		return cmp.Or(cmp.Compare(second(b), second(a)), cmp.Compare(a, b))
	})
}

// starts of a function in the hour. A method that asks for a key starts the authorizer, whose
// records start settle, as do the lines of an mcp that dispatches calls itself. Such an mcp can start
// any function that the brake leaves alone.
func (s *sum) starts(role string) float64 {
	switch s.ceilings.Functions[role].StartedBy {
	case "authorizer":
		return s.keyed * s.perMethod()
	case "log":
		return (s.keyed*s.perMethod() + s.dispatched()) * s.most["deliveries"]
	case "proxy":
		return s.mcpStarts()
	case "oauth":
		return s.startedByOAuth(role)
	}
	return s.behind[role]*s.perMethod() + s.dispatchedTo(role)
}

// dispatchedTo is the most invocations of a function that mcp makes by itself.
func (s *sum) dispatchedTo(role string) float64 {
	if s.ceilings.Functions[role].StartedBy != "api" || s.stopped(role) {
		return 0
	}
	return s.dispatched()
}

// running is how many seconds a function could run, had it places enough: each start until its
// timeout; but of those that mcp invokes no more run at a time than mcp does.
func (s *sum) running(role string) (seconds float64, how string) {
	timeout, dispatched := s.ceilings.Functions[role].Timeout, s.dispatchedTo(role)
	mcp := min(s.mcpPlaces()*3600, s.mcpStarts()*s.ceilings.Functions[s.mcp()].Timeout)
	if dispatched*timeout > mcp {
		own := s.starts(role) - dispatched
		return own*timeout + mcp, fmt.Sprintf("(%s starts × %s s + %s s of mcp)", number(own), number(timeout), number(mcp))
	}
	return s.starts(role) * timeout, fmt.Sprintf("%s starts × %s s", number(s.starts(role)), number(timeout))
}

// number is written without an exponent and without an error in its last digits.
func number(n float64) string {
	text := strings.TrimRight(strconv.FormatFloat(n, 'f', 11, 64), "0")
	return strings.TrimSuffix(text, ".")
}
