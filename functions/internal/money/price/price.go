// Package price is the one table of prices: prices.json, which Terraform reads too. Each
// price names its source and date; a region lists only the prices that differ.
package price

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

//go:embed prices.json
var document []byte

// Key names a price.
type Key string

// The prices that Go uses. The file may hold more.
const (
	GatewayRequest      Key = "apigateway_rest_request"
	HTTPRequest         Key = "apigateway_http_request"
	LambdaRequest       Key = "lambda_request"
	LambdaGBSecond      Key = "lambda_arm64_gb_second"
	WriteUnit           Key = "dynamodb_write_unit"
	ReadUnit            Key = "dynamodb_read_unit"
	LogsIngestedGB      Key = "logs_ingested_gb"
	LogsStoredGBMonth   Key = "logs_stored_gb_month"
	DataOutGB           Key = "data_out_gb"
	AlarmMetricMonth    Key = "cloudwatch_alarm_metric_month"
	KeyMonth            Key = "kms_key_month"
	WAFRuleMonth        Key = "waf_rule_month"
	WAFRequest          Key = "waf_request"
	AgentCoreCall       Key = "agentcore_gateway_call"
	AgentCorePolicyCall Key = "agentcore_gateway_policy_call"
)

// keys are all the constants above, which every book must have.
var keys = []Key{
	GatewayRequest, HTTPRequest, LambdaRequest, LambdaGBSecond, WriteUnit, ReadUnit, LogsIngestedGB, LogsStoredGBMonth,
	DataOutGB, AlarmMetricMonth, KeyMonth, WAFRuleMonth, WAFRequest, AgentCoreCall, AgentCorePolicyCall,
}

// Price is one row: an amount in USD per number of units.
type Price struct {
	// USD is 0 or more, exactly as written in the file.
	USD json.Number `json:"usd"`
	// Per is above 0.
	Per  json.Number `json:"per"`
	Unit string      `json:"unit"`
	// Tiers are what further units of a month cost, in ascending order.
	Tiers []Tier `json:"tiers,omitempty"`
	// Source is the URL of the page or price list.
	Source string `json:"source"`
	// Date is when the price was valid, YYYY-MM-DD or YYYY-MM.
	Date string `json:"date"`
	Note string `json:"note,omitempty"`
}

// Tier is the price of the units of a month above a number, per as many as the row says.
type Tier struct {
	// Above is the number of units.
	Above json.Number `json:"above"`
	USD   json.Number `json:"usd"`
}

// Book is a table of prices, and per region those that differ.
type Book struct {
	// Base is the region that Prices applies to.
	Base    string                   `json:"base"`
	Prices  map[Key]Price            `json:"prices"`
	Regions map[string]map[Key]Price `json:"regions"`
}

// Load returns the embedded book.
func Load() (*Book, error) { return parse(document) }

// parse reads a book and checks every row.
func parse(data []byte) (*Book, error) {
	b, err := decode(data)
	if err != nil {
		return nil, err
	}
	if b.Base == "" {
		return nil, errors.New(`prices: "base" must name a region`)
	}
	for _, key := range keys {
		if _, ok := b.Prices[key]; !ok {
			return nil, fmt.Errorf("prices: %s is missing", key)
		}
	}
	return b, nil
}

func decode(data []byte) (*Book, error) {
	var b Book
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return nil, fmt.Errorf("prices: not in the format of functions/internal/money/price/prices.json: %w", err)
	}
	return &b, b.check()
}

func (b *Book) check() error {
	for key, p := range b.Prices {
		if err := p.check(); err != nil {
			return fmt.Errorf("prices: %s: %w", key, err)
		}
	}
	for region, prices := range b.Regions {
		for key, p := range prices {
			if err := p.check(); err != nil {
				return fmt.Errorf("prices: %s in %s: %w", key, region, err)
			}
		}
	}
	return nil
}

var date = regexp.MustCompile(`^20\d\d-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?$`)

func (p Price) check() error {
	usd, err := rational(p.USD)
	if err != nil || usd.Sign() < 0 {
		return fmt.Errorf("usd must be a number of 0 or more, not %q", p.USD)
	}
	per, err := rational(p.Per)
	if err != nil || per.Sign() <= 0 {
		return fmt.Errorf("per must be a number above 0, not %q", p.Per)
	}
	if err := checkTiers(p.Tiers); err != nil {
		return err
	}
	if strings.TrimSpace(p.Unit) == "" {
		return errors.New("unit is missing")
	}
	if u, err := url.Parse(p.Source); err != nil || u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("source must be the https URL of the price list, not %q", p.Source)
	}
	if !date.MatchString(p.Date) {
		return fmt.Errorf("date must be YYYY-MM-DD or YYYY-MM, not %q", p.Date)
	}
	return nil
}

func checkTiers(tiers []Tier) error {
	last := new(big.Rat)
	for _, tier := range tiers {
		above, err := rational(tier.Above)
		if err != nil || above.Cmp(last) <= 0 {
			return fmt.Errorf("tiers must ascend from above 0, which %q does not", tier.Above)
		}
		if usd, err := rational(tier.USD); err != nil || usd.Sign() < 0 {
			return fmt.Errorf("usd of the tier above %s must be a number of 0 or more, not %q", tier.Above, tier.USD)
		}
		last = above
	}
	return nil
}

// maxDigits, with exponent, keeps a figure such as 1e999999999 from filling the memory.
const maxDigits = 40

func rational(n json.Number) (*big.Rat, error) {
	text := n.String()
	r, ok := new(big.Rat), len(text) > 0 && len(text) <= maxDigits && !exponent.MatchString(text)
	if ok {
		_, ok = r.SetString(text)
	}
	if !ok {
		return nil, fmt.Errorf("%q is not a number", text)
	}
	return r, nil
}

var exponent = regexp.MustCompile(`[eE][+-]?\d{3,}`)

// Override replaces rows of this book with those of another, which may hold only a few.
func (b *Book) Override(data []byte) error {
	other, err := decode(data)
	if err != nil {
		return err
	}
	if other.Base != "" && other.Base != b.Base {
		return fmt.Errorf("prices: base must be %s, not %s; put prices for other regions under \"regions\"", b.Base, other.Base)
	}
	maps.Copy(b.Prices, other.Prices)
	for region, prices := range other.Regions {
		if b.Regions == nil {
			b.Regions = map[string]map[Key]Price{}
		}
		if b.Regions[region] == nil {
			b.Regions[region] = map[Key]Price{}
		}
		maps.Copy(b.Regions[region], prices)
	}
	return nil
}

// Names lists the regions that the book has prices for, the base first.
func (b *Book) Names() []string {
	return append([]string{b.Base}, slices.Sorted(maps.Keys(b.Regions))...)
}

// Table is the prices of one region.
type Table struct {
	Region string
	// Base is the region that supplies the prices this one doesn't list.
	Base   string
	prices map[Key]Price
	own    map[Key]bool
	// tiered are the prices that the base has tiers of.
	tiered map[Key]bool
}

// Region returns the prices of a region; ok is false if the book doesn't have it.
func (b *Book) Region(name string) (t Table, ok bool) {
	t = Table{Region: name, Base: b.Base, prices: maps.Clone(b.Prices), own: map[Key]bool{}, tiered: map[Key]bool{}}
	for key, p := range b.Prices {
		t.tiered[key] = len(p.Tiers) > 0
	}
	prices, ok := b.Regions[name]
	if name == b.Base {
		prices, ok = b.Prices, true
	}
	for key, p := range prices {
		t.prices[key], t.own[key] = p, true
	}
	return t, ok
}

// Price returns a row.
func (t Table) Price(key Key) (p Price, ok bool) {
	p, ok = t.prices[key]
	return p, ok
}

// FellBack reports whether a price is the base region's because the region doesn't list it.
func (t Table) FellBack(key Key) bool { return !t.own[key] }

// Untiered reports whether the base region's price gets lower by volume and this region's own has
// only its first tier.
func (t Table) Untiered(key Key) bool {
	return t.own[key] && len(t.prices[key].Tiers) == 0 && t.tiered[key]
}

// Of is the exact price in USD of the first unit of a month. It panics unless key is one of this
// package's constants, which Parse guarantees to be there.
func (t Table) Of(key Key) *big.Rat { return t.Cost(key, big.NewRat(1, 1)) }

// Cost is the exact price in USD of an amount of units in a month, tier by tier. It panics as Of
// does.
func (t Table) Cost(key Key, amount *big.Rat) *big.Rat {
	p, ok := t.prices[key]
	if !ok {
		panic("price: no row " + string(key))
	}
	usd, left := new(big.Rat), amount
	for _, tier := range slices.Backward(p.Tiers) {
		if above := checked(tier.Above); left.Cmp(above) > 0 {
			usd.Add(usd, new(big.Rat).Mul(new(big.Rat).Sub(left, above), checked(tier.USD)))
			left = above
		}
	}
	usd.Add(usd, new(big.Rat).Mul(left, checked(p.USD)))
	return usd.Quo(usd, checked(p.Per))
}

// checked reads a number that check has seen.
func checked(n json.Number) *big.Rat {
	r, err := rational(n)
	if err != nil {
		panic("price: " + err.Error())
	}
	return r
}
