package openapi

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Kind is what became of a part of the description.
type Kind string

const (
	Renamed    Kind = "renamed"
	Simplified Kind = "simplified"
	LeftOut    Kind = "left out"
	Warning    Kind = "warning"
	New        Kind = "new"       // in the description, and not in the last import
	Gone       Kind = "gone"      // the other way round
	Different  Kind = "different" // the description has changed
	Kept       Kind = "kept"      // a person's change; where the description changed too, Detail says so
)

// Note is one line of the report.
type Note struct {
	Kind   Kind   `json:"kind"`
	Reason string `json:"reason"`
	// Operation as in the description, such as "GET /pets/{petId}"; empty for the document.
	Operation string `json:"operation,omitempty"`
	// Argument or member of the operation.
	Argument string `json:"argument,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// Report says what an import did.
type Report struct {
	Source  string `json:"source"`
	SHA256  string `json:"sha256"`
	Version string `json:"version"`
	Title   string `json:"title"`
	// Operations are those of the description, Imported those in the contract, Tools those
	// listed over MCP.
	Operations int `json:"operations"`
	Imported   int `json:"imported"`
	Tools      int `json:"tools"`
	// Backends by name, with the URL that the description suggests.
	Backends map[string]string `json:"backends"`
	// ServerPath is the path of the description's server, which may have no host.
	ServerPath string `json:"server_path,omitempty"`
	Auth       []Auth `json:"auth"`
	Notes      []Note `json:"notes"`
	Again      bool   `json:"again"` // there was an import before
}

// Auth is one way in which the description says that the backend is authenticated to.
type Auth struct {
	Scheme string `json:"scheme"`
	Asks   string `json:"asks"`
	// Flag and Terraform are how to give the credential; empty if it can't be given.
	Flag      string `json:"flag,omitempty"`
	Terraform string `json:"terraform,omitempty"`
}

func (r *Report) note(kind Kind, reason, operation, argument, detail string) {
	r.Notes = append(r.Notes, Note{kind, reason, clean(operation, 200), clean(argument, 120), clean(detail, 200)})
}

// leftOutMembers reports members that ask for nothing that a tool can do.
func (r *Report) leftOutMembers(n node, operation, member string) {
	for name := range n.get(member).members() {
		r.note(LeftOut, member+" are not tools", operation, name, "")
	}
}

var kindOrder = []Kind{Warning, LeftOut, Simplified, Renamed, New, Gone, Different, Kept}

// sort puts what weighs most first, and then goes by operation.
func (r *Report) sort() {
	slices.SortStableFunc(r.Notes, func(a, b Note) int {
		return cmp.Or(
			cmp.Compare(slices.Index(kindOrder, a.Kind), slices.Index(kindOrder, b.Kind)),
			cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Argument, b.Argument))
	})
	if r.Notes == nil {
		r.Notes = []Note{}
	}
}

// Write shows the report as tables: one line per kind and reason, or per note if all is set.
func (r *Report) Write(w io.Writer, all bool) error {
	fmt.Fprintf(w, "%s: %s, %s. %d operations, %d imported, %d of them tools.\n",
		r.Source, cmp.Or(r.Title, "(no title)"), r.Version, r.Operations, r.Imported, r.Tools)
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(r.Notes) > 0 {
		fmt.Fprintln(out)
		if all {
			fmt.Fprintln(out, "WHAT\tWHY\tOPERATION\tARGUMENT\tDETAIL")
			for _, n := range r.Notes {
				fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", n.Kind, n.Reason, dash(n.Operation), dash(n.Argument), n.Detail)
			}
		} else {
			r.grouped(out)
		}
	}
	if len(r.Auth) > 0 {
		fmt.Fprintln(out, "\nAUTHENTICATION\tASKS FOR\tON A LAPTOP\tIN TERRAFORM")
		for _, a := range r.Auth {
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", a.Scheme, a.Asks, cmp.Or(a.Flag, "can't be given"), cmp.Or(a.Terraform, "can't be given"))
		}
	}
	return out.Flush()
}

func (r *Report) grouped(out io.Writer) {
	fmt.Fprintln(out, "WHAT\tHOW OFTEN\tWHY\tFOR EXAMPLE")
	for i := 0; i < len(r.Notes); {
		first, n := r.Notes[i], 0
		for ; i < len(r.Notes) && r.Notes[i].Kind == first.Kind && r.Notes[i].Reason == first.Reason; i++ {
			n++
		}
		example := strings.Join(slices.DeleteFunc([]string{first.Operation, first.Argument, first.Detail}, func(s string) bool { return s == "" }), ": ")
		fmt.Fprintf(out, "%s\t%d\t%s\t%s\n", first.Kind, n, first.Reason, clean(example, 110))
	}
}

func dash(s string) string { return cmp.Or(s, "-") }
