// Package metricmath evaluates CloudWatch's metric math, as far as this repository uses it,
// over series that a test makes up: + - * / and comparisons, FILL, IF, MAX, EPOCH, DATE and
// RUNNING_SUM. What it does not know is an error, so that a test can't pass on silence.
//
// Semantics are those of the CloudWatch user guide ("Using math expressions with CloudWatch
// metrics"): an operation on two series has a value where both have one; a comparison gives
// 1 or 0; a number is a series that has the same value everywhere.
package metricmath

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Series is a value for each point of a Frame; NaN where there is none.
type Series []float64

// Missing stands for no datapoint.
var Missing = math.NaN()

// Frame is the points in time, one period apart, and the series known by their IDs.
// Expressions may use each other, in any order.
type Frame struct {
	Times       []time.Time
	Metrics     map[string]Series
	Expressions map[string]string
}

// Eval returns the value of a metric or an expression at every point.
func (f Frame) Eval(id string) (Series, error) { return f.named(id, nil) }

func (f Frame) named(id string, within []string) (Series, error) {
	if series, ok := f.Metrics[id]; ok {
		if len(series) != len(f.Times) {
			return nil, fmt.Errorf("%s has %d values for %d points", id, len(series), len(f.Times))
		}
		return series, nil
	}
	text, ok := f.Expressions[id]
	if !ok {
		return nil, fmt.Errorf("%s is no metric and no expression", id)
	}
	for _, outer := range within {
		if outer == id {
			return nil, fmt.Errorf("%s uses itself", id)
		}
	}
	p := parser{frame: f, within: append(within, id), rest: text}
	series, err := p.comparison()
	if err == nil && p.peek() != "" {
		err = fmt.Errorf("%q is left over", p.rest)
	}
	if err != nil {
		return nil, fmt.Errorf("%s = %s: %w", id, text, err)
	}
	return series, nil
}

// parser evaluates while it reads.
type parser struct {
	frame  Frame
	within []string
	rest   string
}

// peek is the next token; empty at the end.
func (p *parser) peek() string {
	p.rest = strings.TrimLeft(p.rest, " \n\t")
	if p.rest == "" {
		return ""
	}
	n := 0
	for n < len(p.rest) && (isWord(p.rest[n])) {
		n++
	}
	switch {
	case n > 0:
	case len(p.rest) > 1 && strings.Contains("<= >= == !=", p.rest[:2]):
		n = 2
	default:
		n = 1
	}
	return p.rest[:n]
}

func isWord(c byte) bool {
	return c == '_' || c == '.' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// take reads one token if it is one of those given.
func (p *parser) take(tokens ...string) (string, bool) {
	next := p.peek()
	for _, token := range tokens {
		if next == token {
			p.rest = p.rest[len(next):]
			return next, true
		}
	}
	return "", false
}

func (p *parser) want(token string) error {
	if _, ok := p.take(token); !ok {
		return fmt.Errorf("want %q before %q", token, p.rest)
	}
	return nil
}

// binary reads operands of a level with the operators of that level between them.
func (p *parser) binary(operand func() (Series, error), operators ...string) (Series, error) {
	left, err := operand()
	for err == nil {
		operator, ok := p.take(operators...)
		if !ok {
			return left, nil
		}
		var right Series
		if right, err = operand(); err == nil {
			left = p.each(func(v ...float64) float64 { return apply(operator, v[0], v[1]) }, left, right)
		}
	}
	return nil, err
}

func (p *parser) comparison() (Series, error) {
	return p.binary(p.sum, "<", ">", "<=", ">=", "==", "!=")
}

func (p *parser) sum() (Series, error) { return p.binary(p.product, "+", "-") }

func (p *parser) product() (Series, error) { return p.binary(p.factor, "*", "/") }

func (p *parser) factor() (Series, error) {
	token := p.peek()
	if token == "" {
		return nil, fmt.Errorf("an operand is missing")
	}
	p.rest = p.rest[len(token):]
	switch {
	case token == "(":
		series, err := p.comparison()
		if err == nil {
			err = p.want(")")
		}
		return series, err
	case token[0] >= '0' && token[0] <= '9':
		number, err := strconv.ParseFloat(token, 64)
		return p.constant(number), err
	case p.peek() == "(":
		return p.call(token)
	}
	return p.frame.named(token, p.within)
}

func (p *parser) call(function string) (Series, error) {
	var arguments []Series
	for more := true; more; _, more = p.take(",") {
		if len(arguments) == 0 {
			if err := p.want("("); err != nil {
				return nil, err
			}
		}
		argument, err := p.comparison()
		if err != nil {
			return nil, err
		}
		arguments = append(arguments, argument)
	}
	if err := p.want(")"); err != nil {
		return nil, err
	}
	takes, ok := map[string]int{"FILL": 2, "IF": 3, "MAX": 1, "EPOCH": 1, "DATE": 1, "RUNNING_SUM": 1}[function]
	if !ok || takes != len(arguments) {
		return nil, fmt.Errorf("%s of %d arguments is not known here", function, len(arguments))
	}
	return p.function(function, arguments), nil
}

func (p *parser) function(name string, a []Series) Series {
	switch name {
	case "FILL":
		return p.each(func(v ...float64) float64 {
			if math.IsNaN(v[0]) {
				return v[1]
			}
			return v[0]
		}, a[0], a[1])
	case "IF":
		return p.each(func(v ...float64) float64 {
			switch {
			case math.IsNaN(v[0]):
				return Missing
			case v[0] != 0:
				return v[1]
			}
			return v[2]
		}, a[0], a[1], a[2])
	case "MAX":
		most := Missing
		for _, v := range a[0] {
			if math.IsNaN(most) || v > most {
				most = v
			}
		}
		return p.constant(most)
	case "RUNNING_SUM":
		sum := 0.0
		return p.each(func(v ...float64) float64 { sum += v[0]; return sum }, a[0])
	}
	out := make(Series, len(p.frame.Times))
	for i, t := range p.frame.Times {
		switch {
		case math.IsNaN(a[0][i]):
			out[i] = Missing
		case name == "EPOCH":
			out[i] = float64(t.Unix())
		default: // DATE
			out[i] = float64(t.UTC().Day())
		}
	}
	return out
}

func (p *parser) constant(value float64) Series {
	out := make(Series, len(p.frame.Times))
	for i := range out {
		out[i] = value
	}
	return out
}

func (p *parser) each(f func(...float64) float64, in ...Series) Series {
	out := make(Series, len(p.frame.Times))
	values := make([]float64, len(in))
	for i := range out {
		for n, series := range in {
			values[n] = series[i]
		}
		out[i] = f(values...)
	}
	return out
}

func apply(operator string, a, b float64) float64 {
	if math.IsNaN(a) || math.IsNaN(b) {
		return Missing
	}
	truth := false
	switch operator {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "/":
		return a / b
	case "<":
		truth = a < b
	case ">":
		truth = a > b
	case "<=":
		truth = a <= b
	case ">=":
		truth = a >= b
	case "==":
		truth = a == b
	case "!=":
		truth = a != b
	}
	if truth {
		return 1
	}
	return 0
}
