// Package insights runs CloudWatch Logs Insights queries over recorded log lines, as far as the
// playbooks and the dashboard use the language
// (https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax.html). What it does
// not know is an error, never a guess.
package insights

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Record is a log line, its fields by name; nested ones by their path, such as record.status.
type Record map[string]string

// Row is a line of an answer.
type Row map[string]string

// Query is a parsed query.
type Query struct {
	steps []func([]Record) []Record
	// fields are the log's that it reads, parsed those that it makes of them.
	fields, parsed map[string]bool
}

// Read reads a line of JSON.
func Read(line string) (Record, error) {
	var tree map[string]any
	if err := json.Unmarshal([]byte(line), &tree); err != nil {
		return nil, fmt.Errorf("a log line is not a JSON object: %w", err)
	}
	r := Record{}
	flatten(r, "", tree)
	return r, nil
}

func flatten(r Record, prefix string, tree map[string]any) {
	for name, value := range tree {
		switch v := value.(type) {
		case map[string]any:
			flatten(r, prefix+name+".", v)
		case string:
			r[prefix+name] = v
		default:
			text, _ := json.Marshal(v)
			r[prefix+name] = string(text)
		}
	}
}

// Parse reads a query.
func Parse(text string) (*Query, error) {
	q := &Query{fields: map[string]bool{}, parsed: map[string]bool{}}
	for _, command := range strings.Split(text, "|") {
		name, rest, _ := strings.Cut(strings.TrimSpace(command), " ")
		step, err := q.command(name, strings.TrimSpace(rest))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", strings.TrimSpace(command), err)
		}
		q.steps = append(q.steps, step)
	}
	return q, nil
}

// Fields are those of the log that the query reads.
func (q *Query) Fields() []string {
	var list []string
	for name := range q.fields {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// Run answers the query.
func (q *Query) Run(records []Record) []Row {
	for _, step := range q.steps {
		records = step(records)
	}
	rows := make([]Row, len(records))
	for i, r := range records {
		rows[i] = Row(r)
	}
	return rows
}

func (q *Query) command(name, rest string) (func([]Record) []Record, error) {
	switch name {
	case "filter":
		keep, err := q.condition(rest)
		if err != nil {
			return nil, err
		}
		return func(in []Record) []Record {
			return slices.DeleteFunc(slices.Clone(in), func(r Record) bool { return !keep(r) })
		}, nil
	case "parse":
		return q.parse(rest)
	case "stats":
		return q.stats(rest)
	case "sort":
		by, direction, _ := strings.Cut(rest, " ")
		if direction != "asc" && direction != "desc" {
			return nil, fmt.Errorf("sorts neither asc nor desc")
		}
		return func(in []Record) []Record { return sorted(in, by, direction == "desc") }, nil
	case "limit":
		n, err := strconv.Atoi(rest)
		if err != nil {
			return nil, err
		}
		return func(in []Record) []Record { return in[:min(n, len(in))] }, nil
	}
	return nil, fmt.Errorf("there is no command %q here", name)
}

// parse adds the fields that a regular expression names; a record that it does not match stays as it is.
func (q *Query) parse(text string) (func([]Record) []Record, error) {
	m := extraction.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("not a field and a /pattern/: %q", text)
	}
	re, err := regexp.Compile(m[2])
	if err != nil {
		return nil, err
	}
	q.read(m[1])
	names := re.SubexpNames()[1:]
	for _, name := range names {
		q.parsed[name] = true
	}
	return func(in []Record) []Record {
		out := make([]Record, len(in))
		for i, r := range in {
			out[i] = maps.Clone(r)
			for j, value := range re.FindStringSubmatch(r[m[1]]) {
				if j > 0 {
					out[i][names[j-1]] = value
				}
			}
		}
		return out
	}, nil
}

// read notes that a field is read, which is the log's unless the query has made it.
func (q *Query) read(field string) {
	if !q.parsed[field] {
		q.fields[field] = true
	}
}

func sorted(in []Record, by string, descending bool) []Record {
	out := slices.Clone(in)
	slices.SortStableFunc(out, func(a, b Record) int {
		order := cmp.Compare(number(a[by]), number(b[by]))
		if descending {
			return -order
		}
		return order
	})
	return out
}

// condition reads comparisons joined by "or", and within those by "and".
func (q *Query) condition(text string) (func(Record) bool, error) {
	for _, word := range []string{" or ", " and "} {
		if left, right, ok := strings.Cut(text, word); ok {
			a, err := q.condition(left)
			if err != nil {
				return nil, err
			}
			b, err := q.condition(right)
			if err != nil {
				return nil, err
			}
			if word == " or " {
				return func(r Record) bool { return a(r) || b(r) }, nil
			}
			return func(r Record) bool { return a(r) && b(r) }, nil
		}
	}
	if m := presence.FindStringSubmatch(strings.TrimSpace(text)); m != nil {
		q.read(m[1])
		return func(r Record) bool { _, ok := r[m[1]]; return ok }, nil
	}
	m := comparison.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return nil, fmt.Errorf("not a comparison: %q", text)
	}
	field, operator, operand := m[1], m[2], m[3]
	q.read(field)
	if operator == "like" {
		pattern, ok := strings.CutPrefix(operand, "/")
		pattern, ok2 := strings.CutSuffix(pattern, "/")
		if !ok || !ok2 {
			return nil, fmt.Errorf("%s is no /pattern/", operand)
		}
		re, err := regexp.Compile(pattern)
		if err != nil {
			return nil, err
		}
		return func(r Record) bool { return re.MatchString(r[field]) }, nil
	}
	want, err := strconv.Unquote(operand)
	if err != nil {
		return nil, fmt.Errorf("%s is not quoted", operand)
	}
	return func(r Record) bool {
		have, ok := r[field]
		return ok && (have == want) == (operator == "=")
	}, nil
}

var (
	extraction = regexp.MustCompile(`^([\w.]+) /(.+)/$`)
	presence   = regexp.MustCompile(`^ispresent\(([\w.]+)\)$`)
	comparison = regexp.MustCompile(`^([\w.]+) (=|!=|like) (\S+)$`)
	between    = regexp.MustCompile(`\) as (\w+), `) // other commas separate arguments
	aggregate  = regexp.MustCompile(`^(count|sum|avg|max|pct)\(([\w.*]+)(?:, (\d+))?\) as (\w+)$`)
)

// stats groups records, and computes a figure of each group.
func (q *Query) stats(text string) (func([]Record) []Record, error) {
	figures, by, _ := strings.Cut(text, " by ")
	var keys []string
	for _, key := range strings.Split(by, ",") {
		if key = strings.TrimSpace(key); key != "" {
			keys = append(keys, key)
			if !strings.HasPrefix(key, "bin(") {
				q.read(key)
			}
		}
	}
	type figure struct {
		function, field, as string
		percentile          float64
	}
	var wanted []figure
	for _, part := range strings.Split(between.ReplaceAllString(figures, ") as $1\n"), "\n") {
		m := aggregate.FindStringSubmatch(part)
		if m == nil {
			return nil, fmt.Errorf("not a figure: %q", part)
		}
		if m[2] != "*" {
			q.read(m[2])
		}
		wanted = append(wanted, figure{m[1], m[2], m[4], number(m[3])})
	}
	return func(in []Record) []Record {
		groups, order := map[string][]Record{}, []string{}
		for _, r := range in {
			var values []string
			for _, key := range keys {
				values = append(values, r[key])
			}
			group := strings.Join(values, "\x00")
			if groups[group] == nil {
				order = append(order, group)
			}
			groups[group] = append(groups[group], r)
		}
		var out []Record
		for _, group := range order {
			row := Record{}
			for i, key := range keys {
				row[key] = strings.Split(group, "\x00")[i]
			}
			for _, f := range wanted {
				row[f.as] = strconv.FormatFloat(compute(f.function, f.field, f.percentile, groups[group]), 'f', -1, 64)
			}
			out = append(out, row)
		}
		return out
	}, nil
}

func compute(function, field string, percentile float64, records []Record) float64 {
	if function == "count" {
		return float64(len(records))
	}
	var values []float64
	sum := 0.0
	for _, r := range records {
		if v := number(r[field]); !math.IsNaN(v) {
			values = append(values, v)
			sum += v
		}
	}
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	switch function {
	case "sum":
		return sum
	case "avg":
		return sum / float64(len(values))
	case "max":
		return values[len(values)-1]
	default: // pct
		return values[max(0, int(math.Ceil(percentile/100*float64(len(values))))-1)]
	}
}

// number is what Insights makes of a string where it wants one.
func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return n
}
