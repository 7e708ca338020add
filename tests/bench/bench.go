// Package bench is what `make bench` measures with: rounds in random order, ratios within a round, CPU
// time instead of elapsed time wherever the waiting is not what matters, and the table that comes of it.
// What is measured is in functions/internal/bench, because only that tree may import the product.
package bench

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// Table is one comparison: variants in rows, what was measured of each in columns.
type Table struct {
	// Name is by what aims find it, such as "mcp call 2025-11-25".
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Columns []string `json:"columns"`
	Rows    []*Row   `json:"rows"`
	// Notes say how to read it, and what was left out and why.
	Notes []string `json:"notes,omitempty"`
}

// Row is one variant.
type Row struct {
	Name  string          `json:"name"`
	Cells map[string]Cell `json:"cells"`
}

// Cell is a text, or a value of each round.
type Cell struct {
	Text   string    `json:"text,omitempty"`
	Values []float64 `json:"values,omitempty"`
}

// Spread returns the least, the median and the greatest value.
func (c Cell) Spread() (least, median, most float64) {
	sorted := slices.Sorted(slices.Values(c.Values))
	n := len(sorted)
	return sorted[0], (sorted[n/2] + sorted[(n-1)/2]) / 2, sorted[n-1]
}

func (t *Table) row(name string) *Row {
	for _, r := range t.Rows {
		if r.Name == name {
			return r
		}
	}
	r := &Row{Name: name, Cells: map[string]Cell{}}
	t.Rows = append(t.Rows, r)
	return r
}

// Cell finds what was measured.
func (t *Table) Cell(row, column string) (Cell, bool) {
	for _, r := range t.Rows {
		if r.Name == row {
			c, ok := r.Cells[column]
			return c, ok
		}
	}
	return Cell{}, false
}

// Add adds the value of one round.
func (t *Table) Add(row, column string, value float64) {
	r := t.row(row)
	c := r.Cells[column]
	c.Values = append(c.Values, value)
	r.Cells[column] = c
}

// Say puts a text into a cell.
func (t *Table) Say(row, column, text string) { t.row(row).Cells[column] = Cell{Text: text} }

// Note adds a remark below the table.
func (t *Table) Note(format string, args ...any) {
	if note := fmt.Sprintf(format, args...); !slices.Contains(t.Notes, note) {
		t.Notes = append(t.Notes, note)
	}
}

// Variant is one of the things that are compared. Measure returns values by column.
type Variant struct {
	Name    string
	Measure func() (map[string]float64, error)
}

// Ratio is a column that divides another one by the same round's value in another row.
type Ratio struct{ Column, Of, To string }

// Interleave measures every variant once in each round, in an order that is drawn anew, so that
// whatever else the machine does hits all of them alike.
func (t *Table) Interleave(progress io.Writer, rounds int, variants []Variant, ratios ...Ratio) error {
	for _, v := range variants {
		t.row(v.Name) // rows are in the order given, whatever is measured first
	}
	for round := range rounds {
		fmt.Fprintf(progress, "  %s: round %d of %d\n", t.Name, round+1, rounds)
		for _, i := range rand.Perm(len(variants)) {
			values, err := variants[i].Measure()
			if err != nil {
				return fmt.Errorf("%s, %s: %w", t.Name, variants[i].Name, err)
			}
			for column, value := range values {
				t.Add(variants[i].Name, column, value)
			}
		}
	}
	for _, ratio := range ratios {
		t.Divide(ratio)
	}
	return nil
}

// Divide fills the column of a ratio, in all rows or in those that are named.
func (t *Table) Divide(ratio Ratio, only ...string) {
	base := t.row(ratio.To).Cells[ratio.Of].Values
	for _, row := range t.Rows {
		if len(only) > 0 && !slices.Contains(only, row.Name) {
			continue
		}
		for round, value := range row.Cells[ratio.Of].Values {
			if round < len(base) && base[round] > 0 {
				t.Add(row.Name, ratio.Column, value/base[round])
			}
		}
	}
}

// The columns of PerCall.
const (
	CPU    = "CPU µs"
	Allocs = "allocs"
	Bytes  = "B"
)

// PerCall calls op for some time, and returns what one call takes of this process.
func PerCall(lasting time.Duration, op func()) map[string]float64 {
	op()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	calls, cpu, start := 0, ownCPU(), time.Now()
	for batch := 1; ; batch = min(2*batch, 256) {
		for range batch {
			op()
		}
		if calls += batch; time.Since(start) >= lasting {
			break
		}
	}
	cpu = ownCPU() - cpu
	runtime.ReadMemStats(&after)
	each := func(total float64) float64 { return total / float64(calls) }
	return map[string]float64{
		CPU:    each(float64(cpu.Nanoseconds()) / 1000),
		Allocs: each(float64(after.Mallocs - before.Mallocs)),
		Bytes:  each(float64(after.TotalAlloc - before.TotalAlloc)),
	}
}

// ownCPU is what this process has taken, by itself and in the kernel.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it fails for wrong arguments only
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
