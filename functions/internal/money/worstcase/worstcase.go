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
}

// Throttle of each method; below 0 for none.
type Throttle struct {
	RatePerSecond float64 `json:"rate_per_second"`
	Burst         float64 `json:"burst"`
}

// Function is what a function runs with.
type Function struct {
	// StartedBy is authorizer, log or messages; anything else means by its methods.
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
	if c.Throttle.RatePerSecond < 0 || c.Throttle.Burst < 0 {
		return Report{}, ErrUnbounded
	}
	r := Report{Trip: c.Trip, Note: c.Note}
	for braked, hour := range map[bool]*Hour{false: &r.Open, true: &r.Braked} {
		s := sum{ceilings: c, most: m, hour: hour}
		s.count(api, braked)
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
}

// count counts the methods as API Gateway throttles them: ANY is a method for each verb.
func (s *sum) count(api *contract.API, braked bool) {
	s.behind = map[string]float64{}
	for _, m := range api.Methods() {
		op := m.Operation
		if braked && (op.Braked || slices.Contains(s.ceilings.Braked, op.Function)) {
			continue
		}
		s.methods++
		if !op.Public {
			s.keyed++
		}
		s.behind[op.Function]++
	}
}

// perMethod is the calls that one method lets through.
func (s *sum) perMethod() float64 {
	return s.ceilings.Throttle.RatePerSecond*3600 + s.ceilings.Throttle.Burst
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
	t, requests := s.ceilings.Throttle, s.methods*s.perMethod()
	s.part("gateway", requests*price["apigateway_rest_request"], "%v methods × (%v per second × 3600 s + %v at once) = %v requests × %v",
		s.methods, t.RatePerSecond, t.Burst, requests, price["apigateway_rest_request"])
	s.part("logs", requests*s.most["log_bytes"]/gb*price["logs_ingested_gb"], "%v requests × %v bytes × %v a GB", requests, s.most["log_bytes"], price["logs_ingested_gb"])
	s.part("answers", requests*s.most["answer_bytes"]/gb*price["data_out_gb"], "%v requests × %v bytes × %v a GB", requests, s.most["answer_bytes"], price["data_out_gb"])

	all := s.most["account_per_second"]*3600 + s.most["account_burst"]
	refused := max(0, all-requests)
	s.part("refused requests", refused*(s.most["record_bytes"]*price["logs_ingested_gb"]+s.most["refusal_bytes"]*price["data_out_gb"])/gb,
		"%v per second in the account × 3600 s + %v at once, less those above = %v × (a record of %v bytes × %v a GB + an answer of %v bytes × %v a GB)",
		s.most["account_per_second"], s.most["account_burst"], refused, s.most["record_bytes"], price["logs_ingested_gb"], s.most["refusal_bytes"], price["data_out_gb"])

	for _, kind := range []string{"write", "read"} {
		s.addUnits(kind, requests, price["dynamodb_"+kind+"_unit"])
	}
	s.addFunctions(price)
	return nil
}

// prices are all that are needed.
func (s *sum) prices() (map[string]float64, error) {
	needed := []string{"apigateway_rest_request", "lambda_request", "logs_ingested_gb", "data_out_gb", "dynamodb_write_unit", "dynamodb_read_unit"}
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
		wanted, places := starts*f.Timeout/3600, f.Reserved
		which := "reserved"
		if f.Reserved < 0 {
			places, which = left, "left in the account"
			left = max(0, left-wanted)
		}
		seconds, how := starts*f.Timeout, fmt.Sprintf("%s starts × %s s", number(starts), number(f.Timeout))
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
// records start settle.
func (s *sum) starts(role string) float64 {
	switch s.ceilings.Functions[role].StartedBy {
	case "authorizer":
		return s.keyed * s.perMethod()
	case "log":
		return s.keyed * s.perMethod() * s.most["deliveries"]
	}
	return s.behind[role] * s.perMethod()
}

// number is written without an exponent and without an error in its last digits.
func number(n float64) string {
	text := strings.TrimRight(strconv.FormatFloat(n, 'f', 11, 64), "0")
	return strings.TrimSuffix(text, ".")
}
