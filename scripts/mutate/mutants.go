package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// mutant is one small fault.
type mutant struct {
	file string // as it was parsed
	line int
	// key says where and what it is, without line numbers: it outlives edits nearby.
	key string
	// live puts it in beside others: the code as it is, unless this mutant is the one that runs.
	live bool
	// What it changes, as offsets into the file. With live, before and after go around the range, with
	// № for the mutant's number.
	start, end    int
	before, after string
	// by replaces the range where the mutant is compiled on its own, if it isn't woven in there too.
	by string
}

// source is a file to put faults into.
type source struct {
	path string // below the module
	text string
	set  *token.FileSet
	tree *ast.File

	function string // that is being walked
	results  []*ast.FuncType
	clauses  map[ast.Node]bool // statements that can't stand in a block
	found    []mutant
}

// find returns the mutants of a file in the order of its text.
func find(path, text string) ([]mutant, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s := &source{path: path, text: text, set: set, tree: tree, clauses: map[ast.Node]bool{}}
	for _, d := range tree.Decls {
		s.declaration(d)
	}
	slices.SortStableFunc(s.found, func(a, b mutant) int { return a.start - b.start })
	seen := map[string]int{}
	for i, m := range s.found { // the second of its kind in a function says so
		if seen[m.key]++; seen[m.key] > 1 {
			s.found[i].key += fmt.Sprintf(" (%d)", seen[m.key])
		}
	}
	return s.found, nil
}

func (s *source) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		s.function, s.results = d.Name.Name, []*ast.FuncType{d.Type}
		if d.Body != nil {
			s.walk(d.Body, false)
		}
	case *ast.GenDecl:
		if d.Tok != token.CONST && d.Tok != token.VAR {
			return
		}
		for _, spec := range d.Specs {
			v := spec.(*ast.ValueSpec)
			s.function, s.results = v.Names[0].Name, nil
			for _, e := range v.Values {
				// A second more or less of a time-out makes no fault.
				if d.Tok != token.CONST || !strings.Contains(s.of(e), "time.") {
					s.walk(e, d.Tok == token.CONST)
				}
			}
		}
	}
}

// walk visits a node; constant says that nothing but a constant may stand in it.
func (s *source) walk(root ast.Node, constant bool) {
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil || s.clauses[n] {
			return n != nil
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			s.results = append(s.results, n.Type)
			s.walk(n.Body, false)
			s.results = s.results[:len(s.results)-1]
			return false
		case *ast.KeyValueExpr: // another key is another table
			s.walk(n.Value, constant)
			return false
		case *ast.ArrayType:
			s.walk(n.Elt, constant)
			return false // its length
		case *ast.IfStmt:
			s.clauses[n.Init] = true
			s.condition(n.Cond)
		case *ast.CommClause:
			s.clauses[n.Comm] = true
		case *ast.ForStmt:
			s.clauses[n.Init], s.clauses[n.Post] = true, true
			if n.Cond != nil {
				s.around(n.Cond, "(!mutant(№) && (", "))", "never")
			}
		case *ast.SwitchStmt:
			s.clauses[n.Init] = true
			if n.Tag == nil {
				s.cases(n)
			}
		case *ast.BinaryExpr:
			s.operator(n, constant)
		case *ast.BasicLit:
			s.literal(n, constant)
		case *ast.Ident:
			if n.Name == "true" || n.Name == "false" {
				other := strconv.FormatBool(n.Name == "false")
				s.add(n, mutant{live: !constant, before: "(mutant(№) != ", after: ")", by: other}, other)
			}
		case *ast.CallExpr:
			if s.of(n.Fun) == "make" {
				return false // how much room is made changes nothing
			}
		case *ast.ExprStmt:
			s.statement(n)
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				s.around(n, "if !mutant(№) { ", " }", "gone")
			}
		case *ast.IncDecStmt:
			s.around(n, "if !mutant(№) { ", " }", "gone")
		case *ast.ReturnStmt:
			s.swallow(n)
		}
		return true
	})
}

// condition is taken for met, and for unmet.
func (s *source) condition(e ast.Expr) {
	s.around(e, "(!mutant(№) && (", "))", "never")
	s.around(e, "(mutant(№) || (", "))", "always")
}

func (s *source) cases(n *ast.SwitchStmt) {
	for _, c := range n.Body.List {
		for _, e := range c.(*ast.CaseClause).List {
			s.condition(e)
		}
	}
}

// operators and what each is taken for. Those of conditions go in live.
var operators = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.QUO,
}

func (s *source) operator(n *ast.BinaryExpr, constant bool) {
	other, ok := operators[n.Op]
	if !ok {
		return
	}
	changed := s.of(n.X) + " " + other.String() + " " + s.of(n.Y)
	switch n.Op {
	case token.ADD, token.SUB, token.MUL, token.QUO, token.REM:
		if !joins(n) {
			s.replace(n, changed)
		}
	default:
		if constant {
			s.replace(n, changed)
			return
		}
		s.add(n, mutant{live: true, before: "(mutant(№) && (" + changed + ") || !mutant(№) && (", after: "))"}, other.String())
	}
}

// joins: a sum of texts has no difference.
func joins(n *ast.BinaryExpr) bool {
	text := func(e ast.Expr) bool {
		l, ok := e.(*ast.BasicLit)
		return ok && l.Kind == token.STRING
	}
	inner, ok := n.X.(*ast.BinaryExpr)
	return text(n.X) || text(n.Y) || ok && joins(inner)
}

// literal makes a number larger by one. A live one adds 1<<0, which has the type that the number has there.
func (s *source) literal(n *ast.BasicLit, constant bool) {
	if n.Kind != token.INT {
		return
	}
	v, err := strconv.ParseInt(n.Value, 0, 62)
	if err != nil {
		return
	}
	more := strconv.FormatInt(v+1, 10)
	if constant {
		s.replace(n, more)
		return
	}
	s.add(n, mutant{live: true, before: "(", after: " + 1<<mutantShift(№))", by: more}, more)
}

// statement leaves a call out, unless it does nothing that a test of one goroutine could see.
func (s *source) statement(n *ast.ExprStmt) {
	call, ok := n.X.(*ast.CallExpr)
	if !ok {
		return
	}
	name := s.of(call.Fun)
	for _, unseen := range []string{"Lock", "Unlock", "panic", "Log.Info", "Log.Debug", "log.Log"} {
		if strings.HasSuffix(name, unseen) {
			return
		}
	}
	s.around(n, "if !mutant(№) { ", " }", "gone")
}

// swallow returns no error in place of one.
func (s *source) swallow(n *ast.ReturnStmt) {
	if len(s.results) == 0 || len(n.Results) == 0 {
		return
	}
	returned := s.results[len(s.results)-1].Results
	if returned == nil {
		return
	}
	last, ok := returned.List[len(returned.List)-1].Type.(*ast.Ident)
	e := n.Results[len(n.Results)-1]
	if !ok || last.Name != "error" || s.of(e) == "nil" || len(n.Results) < count(returned) {
		return
	}
	nils := "nil"
	if first := n.Results[0]; first != e {
		nils = s.between(first.Pos(), n.Results[len(n.Results)-2].End()) + ", nil"
	}
	s.add(n, mutant{live: true, before: "if mutant(№) { return " + nils + " }; "}, "no error")
}

func count(f *ast.FieldList) int {
	n := 0
	for _, field := range f.List {
		n += max(1, len(field.Names))
	}
	return n
}

func (s *source) around(n ast.Node, before, after, what string) {
	s.add(n, mutant{live: true, before: before, after: after}, what)
}

func (s *source) replace(n ast.Node, by string) { s.add(n, mutant{by: by}, by) }

func (s *source) add(n ast.Node, m mutant, what string) {
	m.file, m.line = s.path, s.set.Position(n.Pos()).Line
	m.start, m.end = s.offset(n.Pos()), s.offset(n.End())
	m.key = fmt.Sprintf("%s %s: %s → %s", s.path, s.function, short(s.of(n)), what)
	s.found = append(s.found, m)
}

func (s *source) offset(p token.Pos) int            { return s.set.Position(p).Offset }
func (s *source) of(n ast.Node) string              { return s.between(n.Pos(), n.End()) }
func (s *source) between(from, to token.Pos) string { return s.text[s.offset(from):s.offset(to)] }

// short is code on one line.
func short(code string) string {
	line := strings.Join(strings.Fields(code), " ")
	if r := []rune(line); len(r) > 100 {
		return string(r[:100]) + "…"
	}
	return line
}

// weave puts live mutants into a text, each by its number.
func weave(text string, live map[int]mutant) string {
	type insertion struct {
		at, depth int // of equal places, the wider range goes outside
		what      string
	}
	var all []insertion
	for number, m := range live {
		id := strconv.Itoa(number)
		width := m.end - m.start
		all = append(all, insertion{m.start, -width<<12 + number, strings.ReplaceAll(m.before, "№", id)},
			insertion{m.end, -1<<50 + width<<12 - number, strings.ReplaceAll(m.after, "№", id)})
	}
	slices.SortFunc(all, func(a, b insertion) int {
		if a.at != b.at {
			return a.at - b.at
		}
		return a.depth - b.depth
	})
	var out strings.Builder
	last := 0
	for _, i := range all {
		out.WriteString(text[last:i.at])
		out.WriteString(i.what)
		last = i.at
	}
	return out.String() + text[last:]
}
