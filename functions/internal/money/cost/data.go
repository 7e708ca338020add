package cost

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math/big"

	"sekisho/functions/internal/money/price"
)

// Decimals of amounts in JSON and CSV: millionths of a dollar.
const dataDecimals = 6

type jsonLine struct {
	Name  string       `json:"name"`
	USD   json.Number  `json:"usd"`
	Share *json.Number `json:"share_percent,omitempty"`
	// Counted maps each unit to its amount.
	Counted map[string]json.Number `json:"counted,omitempty"`
}

type jsonCalls struct {
	All      json.Number `json:"all"`
	Admitted json.Number `json:"admitted"`
	Failed   json.Number `json:"failed"`
	Denied   json.Number `json:"denied"`
}

type jsonSum struct {
	Name  string      `json:"name,omitempty"`
	Note  string      `json:"note,omitempty"`
	Lines []jsonLine  `json:"lines"`
	Total json.Number `json:"total_usd"`
}

type jsonPrice struct {
	price.Price
	// Region is whose price it is: the report's, or the base region's.
	Region string `json:"region"`
}

// JSON writes the report for programs. Amounts have six decimals, and lines add up to their
// total.
func (r *Report) JSON(w io.Writer) error {
	t := r.Traffic
	perMillion := map[string]json.Number{}
	for _, p := range r.PerMillion {
		perMillion[p.Name] = json.Number(p.USD.FloatString(dataDecimals))
	}
	visits := map[Visit]json.Number{}
	for _, v := range Visits() {
		visits[v] = json.Number(r.Model.Thousand(v).FloatString(dataDecimals))
	}
	signIns := map[Visit]json.Number{}
	for _, v := range SignIns() {
		signIns[v] = json.Number(r.Model.Thousand(v).FloatString(dataDecimals))
	}
	alternatives := make([]jsonSum, 0, len(r.Alternatives))
	for _, a := range r.Alternatives {
		s := sumOf(a.Lines)
		s.Name, s.Note = a.Name, a.Note
		alternatives = append(alternatives, s)
	}
	durations := map[string]json.Number{}
	for name, ms := range r.Model.Setup.DurationMS {
		durations[name] = decimal(ms)
	}
	direct := map[Ending]json.Number{}
	for ending, ms := range r.Model.Setup.DirectMS {
		direct[ending] = decimal(ms)
	}
	via, topology := t.Via.Split()
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(struct {
		Region string `json:"region"`
		Via    string `json:"via"`
		// Topology is "" for REST calls, which are the same in all.
		Topology string    `json:"topology,omitempty"`
		Calls    jsonCalls `json:"calls"`
		jsonSum
		PerMillion   map[string]json.Number  `json:"per_million_usd"`
		Visits       map[Visit]json.Number   `json:"thousand_visits_usd"`
		SignIns      map[Visit]json.Number   `json:"thousand_sign_ins_usd"`
		Idle         jsonSum                 `json:"idle_month"`
		Alternatives []jsonSum               `json:"alternatives"`
		MemoryMB     map[string]int64        `json:"memory_mb"`
		DurationsMS  map[string]json.Number  `json:"durations_ms"`
		DirectMS     map[Ending]json.Number  `json:"direct_mcp_ms"`
		Origin       string                  `json:"durations_are"`
		Prices       map[price.Key]jsonPrice `json:"prices"`
		Notes        []string                `json:"notes"`
	}{
		Region: r.Model.Prices.Region, Via: via, Topology: topology,
		Calls:   jsonCalls{decimal(t.Calls), decimal(t.Number(Admitted)), decimal(t.Number(Failed)), decimal(t.Number(Denied))},
		jsonSum: sumOf(r.Lines), PerMillion: perMillion, Visits: visits, SignIns: signIns, Idle: sumOf(r.Idle), Alternatives: alternatives,
		MemoryMB: r.Model.Setup.MemoryMB, DurationsMS: durations, DirectMS: direct, Origin: r.Model.Setup.Origin,
		Prices: r.prices(), Notes: r.Notes,
	})
}

func (r *Report) prices() map[price.Key]jsonPrice {
	prices := map[price.Key]jsonPrice{}
	for _, key := range used {
		p, _ := r.Model.Prices.Price(key) // price.Parse guarantees these
		region := r.Model.Prices.Region
		if r.Model.Prices.FellBack(key) {
			region = r.Model.Prices.Base
		}
		prices[key] = jsonPrice{p, region}
	}
	return prices
}

func sumOf(lines []Line) jsonSum {
	amounts, total := Apportion(weights(lines), dataDecimals)
	shares := Shares(big.NewRat(100, 1), weights(lines), 1)
	s := jsonSum{Total: json.Number(fixed(total, dataDecimals)), Lines: []jsonLine{}}
	for i, l := range lines {
		share := json.Number(fixed(shares[i], 1))
		line := jsonLine{Name: l.Name, USD: json.Number(fixed(amounts[i], dataDecimals)), Share: &share, Counted: map[string]json.Number{}}
		for _, q := range l.Counted {
			line.Counted[q.Unit] = decimal(q.Amount)
		}
		s.Lines = append(s.Lines, line)
	}
	return s
}

// decimal writes a whole number without decimals.
func decimal(n *big.Rat) json.Number {
	if n.IsInt() {
		return json.Number(n.Num().String())
	}
	return json.Number(n.FloatString(dataDecimals))
}

// CSV writes the lines and the total in the format of RFC 4180.
func (r *Report) CSV(w io.Writer) error {
	s := sumOf(r.Lines)
	rows := [][]string{{"line", "usd", "share_percent"}}
	shares := sum(Shares(big.NewRat(100, 1), weights(r.Lines), 1))
	for _, l := range s.Lines {
		rows = append(rows, []string{l.Name, l.USD.String(), l.Share.String()})
	}
	rows = append(rows, []string{"total", s.Total.String(), fixed(shares, 1)})
	out := csv.NewWriter(w)
	out.UseCRLF = true
	return out.WriteAll(rows)
}
