package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"sekisho/functions/internal/usage"
)

// Admission is what the gate says of a call. The function behind it gets it value by value, the log
// as one text: see MarshalText. Every value is text; an empty one says nothing.
type Admission struct {
	// Crossed is set for the call that took the month's count over a threshold; see Crossing.
	Crossed string `json:"crossed"`
	// Denial is the problem code of a denied call.
	Denial string `json:"denial"`
	// AdmissionID, Units and RefundCap are set when units were taken; settle gives them back.
	AdmissionID string `json:"admission_id"`
	Operation   string `json:"operation"`
	KeyID       string `json:"key_id"`
	Meter       string `json:"meter"`
	Period      string `json:"period"`
	Units       string `json:"units"`
	RefundCap   string `json:"refund_cap"`
	UserID      string `json:"user_id"`
	Plan        string `json:"plan"`
}

// Crossing is a share of the monthly limit that a call reached.
type Crossing struct {
	Percent     int
	Used, Limit int64
}

// crossing starts the text of a Crossing, for the filter of settle's subscription.
const crossing = "pct:"

func (c Crossing) String() string {
	return fmt.Sprintf("%s%d:%d:%d", crossing, c.Percent, c.Used, c.Limit)
}

// Crossing reads Crossed; ok is false where there is none.
func (a Admission) Crossing() (c Crossing, ok bool) {
	_, err := fmt.Sscanf(a.Crossed, crossing+"%d:%d:%d", &c.Percent, &c.Used, &c.Limit)
	return c, err == nil
}

// pair is how the text of an admission has a value; see MarshalText.
func pair(name, value string) string { return name + "=" + value }

// MarshalText writes the admission for the log, which is billed by the byte: name=value pairs in the
// order of the fields, with a space between them. What UnmarshalText works out is left out, and so are
// user and plan, which the key's ID leads to, unless a threshold was crossed: the message about
// that names them.
//
// A crossing or a denial comes first, so that a filter pattern knows the call by how the text starts.
func (a Admission) MarshalText() ([]byte, error) {
	if a.Crossed == "" {
		a.UserID, a.Plan = "", ""
	}
	if a.Denial == "" && a.Meter == a.KeyID { // denials are counted by meter, by queries that work nothing out
		a.Meter = ""
	}
	if a.Period == a.monthOfID() {
		a.Period = ""
	}
	if a.AdmissionID != "" && a.Units == oneUnit {
		a.Units = ""
	}
	var text bytes.Buffer
	visit(&a, func(f reflect.StructField, v reflect.Value) {
		if v.String() == "" {
			return
		}
		if text.Len() > 0 {
			text.WriteByte(' ')
		}
		text.WriteString(pair(f.Tag.Get("json"), escaper.Replace(url.PathEscape(v.String()))))
	})
	return text.Bytes(), nil
}

// escaper is for what url.PathEscape leaves: a value with = could pass for a pair, and & is escaped
// in JSON by some who write it. The values of the gate need none of this.
var escaper = strings.NewReplacer("=", "%3D", "&", "%26")

// oneUnit is what a call takes where the text doesn't say.
const oneUnit = "1"

// UnmarshalText reads what MarshalText wrote. Where the text doesn't say, the meter is the key's own,
// the period that of the admission's ID, and the units are one.
func (a *Admission) UnmarshalText(text []byte) error {
	*a = Admission{}
	if string(text) == unset {
		return nil
	}
	said := map[string]string{}
	for one := range strings.FieldsSeq(string(text)) {
		name, value, ok := strings.Cut(one, "=")
		value, err := url.PathUnescape(value)
		if !ok || err != nil {
			return errors.New("an admission has name=value pairs, and nothing else")
		}
		said[name] = value
	}
	visit(a, func(f reflect.StructField, v reflect.Value) { v.SetString(said[f.Tag.Get("json")]) })
	if a.Meter == "" {
		a.Meter = a.KeyID
	}
	if a.Period == "" {
		a.Period = a.monthOfID()
	}
	if a.AdmissionID != "" && a.Units == "" {
		a.Units = oneUnit
	}
	return nil
}

// monthOfID is the month in which the admission's ID was made, "" if it says none.
func (a Admission) monthOfID() string {
	at, ok := usage.AdmissionTime(a.AdmissionID)
	if !ok {
		return ""
	}
	return usage.PeriodOf(at).String()
}

// QueryFields has for each value of an admission the command of Logs Insights that makes a field of it.
// Lines that don't say the value stay, without the field
// (https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-Parse.html).
func QueryFields() map[string]string {
	commands := map[string]string{}
	visit(new(Admission), func(f reflect.StructField, _ reflect.Value) {
		name := f.Tag.Get("json")
		commands[name] = fmt.Sprintf(`parse %s /%s/`, AdmissionField, pair(name, `(?<`+name+`>\S+)`))
	})
	return commands
}
