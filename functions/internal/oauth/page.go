package oauth

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page and its style
	"encoding/base64"
	"errors"
	"html/template"
	"net/http"
	"strings"
)

//go:embed page.html
var pageText string

//go:embed page.css
var style string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// styleHash lets the policy allow the page's own style and no other.
var styleHash = func() string {
	hash := sha256.Sum256([]byte(style))
	return "'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'"
}()

// secure sets the headers of every answer to a person. The page has no script and loads nothing;
// nobody may frame it; its form leads here, and on to the client, since browsers apply form-action to
// redirects too. The referrer stays with this site: with no-referrer, browsers would send the form
// with Origin: null, and it couldn't be told from another site's.
func secure(w http.ResponseWriter, formTargets ...string) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src "+styleHash+"; img-src data:; base-uri 'none'; frame-ancestors 'none'; "+
		"form-action "+strings.Join(append([]string{"'self'"}, formTargets...), " "))
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin-allow-popups")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// page is what a person sees.
type page struct {
	language language
	address  string
	asked    *asked // nil for an error that goes nowhere
	days     int
}

// field is a hidden one of the form.
type field struct{ Name, Value string }

// view is what the template takes: texts only, which it escapes.
type view struct {
	Lang, Title, Error, Back             string
	Style                                template.CSS
	Form                                 bool
	Action                               string
	Who, Asks, Vouched, Warning          string
	CallsLabel, Calls, LeadsLabel, Leads string
	MayLabel                             string
	May, Until                           string
	KeyLabel, KeyHint, Allow, Deny       string
	Fields                               []field
	KeyField, DecisionField, YES, NO     string
}

// refuse shows an error that goes to no client, and returns it for the log.
func (p page) refuse(w http.ResponseWriter, err error) error {
	var f *fault
	if !errors.As(err, &f) {
		f = broken(err)
	}
	f.retryAfter(w.Header())
	p.asked = nil
	p.show(w, f.httpStatus(), f)
	return f
}

// again shows the form with what is wrong with the key. A failure of ours is shown there too: the
// person can try again.
func (p page) again(w http.ResponseWriter, err error) error {
	var f *fault
	if !errors.As(err, &f) {
		f = broken(err)
	}
	f.retryAfter(w.Header())
	p.show(w, f.httpStatus(), f)
	return f
}

// show writes the page; f is nil the first time.
func (p page) show(w http.ResponseWriter, status int, f *fault) {
	v := view{Lang: string(p.language), Style: template.CSS(style), Title: p.language.say("title.error"), Back: p.language.say("back")}
	if f != nil {
		v.Error = f.in(p.language)
	}
	var targets []string
	if p.asked != nil {
		p.form(&v)
		targets = []string{formTarget(p.asked.redirect)}
	}
	secure(w, targets...)
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, v); err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Language", v.Lang)
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // it is kept in memory
}

// form fills in who asks and for what. What somebody vouches for comes first; what the client says of
// itself is marked as that.
func (p page) form(v *view) {
	l, a := p.language, p.asked
	v.Form, v.Title, v.Action = true, l.say("title"), p.address+authorizePath
	switch a.client.kind {
	case documented:
		v.Who, v.Vouched = a.client.host, l.say("from")
	case registered:
		v.Who, v.Vouched = a.client.id, l.say("operator")
	case dynamic:
		v.Who, v.Warning = l.say("app"), l.say("unverified")
	}
	v.Asks, v.CallsLabel, v.LeadsLabel, v.MayLabel = l.say("asks"), l.say("calls"), l.say("leads"), l.say("may")
	if v.Calls = a.client.name; v.Calls == "" {
		v.Calls = l.say("unnamed")
	}
	v.Leads = place(a.redirect)
	switch {
	case isLoopback(a.redirect):
		v.Leads = l.say("leads.local", v.Leads)
	case a.redirect.Scheme != "https":
		v.Leads = l.say("leads.app", v.Leads)
	}
	v.May, v.Until = l.say("may.call"), l.say("until", p.days)
	v.KeyLabel, v.KeyHint, v.Allow, v.Deny = l.say("key"), l.say("key.hint", strings.TrimPrefix(p.address, "https://")), l.say("allow"), l.say("deny")
	v.KeyField, v.DecisionField, v.YES, v.NO = keyField, decisionField, allow, deny
	for _, name := range parameters {
		if a.form.Has(name) {
			v.Fields = append(v.Fields, field{name, a.form.Get(name)})
		}
	}
}
