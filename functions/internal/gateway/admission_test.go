package gateway_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"sekisho/functions/internal/contract"
	"sekisho/functions/internal/gateway"
)

func TestCrossing(t *testing.T) {
	c := gateway.Crossing{Percent: 80, Used: 800, Limit: 1000}
	if got, ok := (gateway.Admission{Crossed: c.String()}).Crossing(); !ok || got != c {
		t.Errorf("%s: %+v, %v", c, got, ok)
	}
	for _, text := range []string{"", "-", "pct:", "pct:80:x:1"} {
		if got, ok := (gateway.Admission{Crossed: text}).Crossing(); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestAdmissionText: nothing is written that is worked out, and what is read is what was said, but
// for user and plan, which only the message about a crossing needs.
func TestAdmissionText(t *testing.T) {
	id := admission(t, "2026-11-30T23:59:59Z")
	admitted := gateway.Admission{
		AdmissionID: id, Operation: "postal.lookup", KeyID: "key_a", Meter: "key_a", Period: "2026-11", Units: "1", RefundCap: "100", UserID: "a@example.com", Plan: "free",
	}
	for text, change := range map[string]func(*gateway.Admission){
		"admission_id=ID operation=postal.lookup key_id=key_a refund_cap=100":                func(*gateway.Admission) {},
		"admission_id=ID operation=postal.lookup key_id=key_b meter=key_a refund_cap=100":    func(a *gateway.Admission) { a.KeyID = "key_b" },
		"admission_id=ID operation=postal.lookup key_id=key_a units=3 refund_cap=100":        func(a *gateway.Admission) { a.Units = "3" },
		"admission_id=ID operation=postal.lookup key_id=key_a period=2026-10 refund_cap=100": func(a *gateway.Admission) { a.Period = "2026-10" },
		"crossed=pct:80:8:10 admission_id=ID operation=postal.lookup key_id=key_a refund_cap=100 user_id=a@example.com plan=free": func(a *gateway.Admission) {
			a.Crossed = "pct:80:8:10"
		},
		"denial=limit_exceeded operation=postal.lookup key_id=key_a meter=key_a period=2026-11": func(a *gateway.Admission) {
			a.Denial, a.AdmissionID, a.Units, a.RefundCap = "limit_exceeded", "", "", ""
		},
		"operation=system.health": func(a *gateway.Admission) { *a = gateway.Admission{Operation: "system.health"} },
		"":                        func(a *gateway.Admission) { *a = gateway.Admission{} },
	} {
		said := admitted
		change(&said)
		text = strings.ReplaceAll(text, "=ID", "="+id)
		if got := written(t, said); got != text {
			t.Errorf("%+v is written as %q, want %q", said, got, text)
		}
		if said.Crossed == "" {
			said.UserID, said.Plan = "", ""
		}
		if got := read(t, text); got != said {
			t.Errorf("%q is read as %+v, want %+v", text, got, said)
		}
	}
	if got := read(t, "-"); got != (gateway.Admission{}) {
		t.Errorf("where no gate saw the call: %+v", got)
	}
	for _, text := range []string{"key_a", "denial=limit_exceeded x", "key_id=%zz"} {
		if err := new(gateway.Admission).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for an admission", text)
		}
	}
}

// TestAdmissionTextIsPlain: whatever the values are, the text needs no escaping, a value passes for no
// other, and queries find them all. The contract's operations are written as they are.
func TestAdmissionTextIsPlain(t *testing.T) {
	plain := regexp.MustCompile(`^[a-z_]+=[A-Za-z0-9_.:@~$+%-]+( [a-z_]+=[A-Za-z0-9_.:@~$+%-]+)*$`)
	for _, value := range []string{"x", "a b", ` "quoted\`, "key_id=key_b", "50%", "<&>", "東京", "a\nb", "\x00", "-", "meter=key_b denial=limit_exceeded"} {
		var said gateway.Admission
		fields := reflect.ValueOf(&said).Elem()
		for i := range fields.NumField() {
			fields.Field(i).SetString(value)
		}
		said.KeyID, said.AdmissionID = "key_a", admission(t, "2026-11-30T23:59:59Z")
		text := written(t, said)
		if got := read(t, text); !plain.MatchString(text) || got != said {
			t.Errorf("%q becomes %q, and is read as %+v", value, text, got)
		}
		found := map[string]string{}
		for name, command := range gateway.QueryFields() {
			m := regexp.MustCompile(`^parse gate /(.*)/$`).FindStringSubmatch(command)
			if m == nil {
				t.Fatalf("%s is not a command on the text", command)
			}
			re := regexp.MustCompile(m[1])
			if values := re.FindStringSubmatch(text); values != nil {
				found[re.SubexpNames()[1]] = values[1]
				if re.SubexpNames()[1] != name || len(re.FindAllString(text, -1)) != 1 {
					t.Errorf("%s does not find the one %s in %q", command, name, text)
				}
			}
		}
		want := map[string]string{}
		for one := range strings.FieldsSeq(text) {
			name, value, _ := strings.Cut(one, "=")
			want[name] = value
		}
		if !maps.Equal(found, want) {
			t.Errorf("queries find %v in %q", found, text)
		}
	}
	api, err := contract.Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range api.Operations {
		if text := written(t, gateway.Admission{Operation: op.ID}); text != "operation="+op.ID {
			t.Errorf("%s is written as %s", op.ID, text)
		}
	}
}

// written is also how JSON has it.
func written(t *testing.T, a gateway.Admission) string {
	t.Helper()
	text, err := a.MarshalText()
	encoded, err2 := json.Marshal(gateway.AccessRecord{Admission: a})
	if err != nil || err2 != nil || !strings.Contains(string(encoded), `"gate":"`+string(text)+`"`) {
		t.Errorf("%q, %v: %s, %v", text, err, encoded, err2)
	}
	return string(text)
}

func read(t *testing.T, text string) gateway.Admission {
	t.Helper()
	var a gateway.Admission
	if err := a.UnmarshalText([]byte(text)); err != nil {
		t.Errorf("%q: %v", text, err)
	}
	return a
}
