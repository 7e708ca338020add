package contract

import (
	"encoding/json"
	"errors"
	"io"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

func op(t testing.TB, id string) *Operation {
	t.Helper()
	api, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	o := api.Operation(id)
	if o == nil {
		t.Fatalf("no operation %s", id)
	}
	return o
}

func TestBind(t *testing.T) {
	for _, c := range []struct {
		id    string
		path  map[string]string
		query map[string][]string
		body  string
		want  map[string]any
	}{
		{"postal.lookup", map[string]string{"postal_code": "%EF%BC%91%EF%BC%90%EF%BC%90-0001"}, nil, "", map[string]any{"postal_code": "１００-0001"}},
		{"calendar.holidays", nil, map[string][]string{"year": {"2026"}}, "", map[string]any{"year": 2026.0}},
		{"postal.search", nil, map[string][]string{"prefix": {"100"}}, "", map[string]any{"prefix": "100", "limit": 20.0}},
		{"calendar.is_business_day", nil, map[string][]string{"date": {"2026-11-30"}, "bank_holidays": {"true"}}, "", map[string]any{"date": "2026-11-30", "bank_holidays": true}},
		{"convert.units", nil, map[string][]string{"value": {"-1.5e3"}, "from": {"m"}, "to": {"km"}}, "", map[string]any{"value": -1500.0, "from": "m", "to": "km"}},
		{"convert.width", nil, nil, `{"text":"ｱ","to":"full"}`, map[string]any{"text": "ｱ", "to": "full", "scope": "all"}},
		{"utility.get_usage", nil, nil, "ignored: the operation takes no body", map[string]any{}},
	} {
		got, err := op(t, c.id).Bind(c.path, c.query, []byte(c.body))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.id, got, err, c.want)
		}
	}
}

// TestLenient: what agents send for an argument that they leave out, and for numbers and
// booleans, in a body, over MCP or in a query. want is nil where it is refused.
func TestLenient(t *testing.T) {
	for _, c := range []struct {
		id, args string
		want     map[string]any
	}{
		{"convert.era", `{"date":"2019-05-01","era_date":null}`, map[string]any{"date": "2019-05-01"}},
		{"convert.era", `{"date":"","era_date":"R1.5.1"}`, map[string]any{"era_date": "R1.5.1"}},
		{"postal.search", `{"prefix":"100","address":"","limit":null,"cursor":null}`, map[string]any{"prefix": "100", "limit": 20.0}},
		{"postal.search", `{"prefix":"100","limit":""}`, map[string]any{"prefix": "100", "limit": 20.0}},
		{"postal.search", `{"prefix":"060","limit":"5"}`, map[string]any{"prefix": "060", "limit": 5.0}},
		{"postal.search", `{"prefix":60}`, nil}, // 060?
		{"postal.search", `{"prefix":"060","limit":"five"}`, nil},
		{"postal.search", `{"prefix":"060","limit":true}`, nil},
		{"postal.lookup", `{"postal_code":1000001}`, map[string]any{"postal_code": "1000001"}},
		{"postal.lookup", `{"postal_code":600000}`, nil}, // 060-0000
		{"postal.lookup", `{"postal_code":-100000}`, nil},
		{"postal.lookup", `{"postal_code":100000.5}`, nil},
		{"postal.lookup", `{"postal_code":null}`, nil},
		{"postal.lookup", `{"postal_code":""}`, nil},
		{"external.fetch_stats", `{"resource_id":42}`, nil}, // 042?
		{"calendar.business_days", `{"date":"2026-11-30","days":"-3","bank_holidays":"true"}`, map[string]any{"date": "2026-11-30", "days": -3.0, "bank_holidays": true}},
		{"calendar.business_days", `{"date":"2026-11-30","days":"+3","bank_holidays":"False"}`, map[string]any{"date": "2026-11-30", "days": 3.0, "bank_holidays": false}},
		{"calendar.business_days", `{"date":"2026-11-30","days":"3","bank_holidays":1}`, nil},
		{"calendar.business_days", `{"date":"2026-11-30","days":"3","bank_holidays":""}`, map[string]any{"date": "2026-11-30", "days": 3.0, "bank_holidays": false}},
		{"calendar.business_days", `{"date":"2026-11-30","days":""}`, nil},
		{"calendar.holidays", `{"year":"2026"}`, map[string]any{"year": 2026.0}},
		{"calendar.holidays", `{"year":"２０２６"}`, nil},
		{"calendar.holidays", `{"year":"0x7ea"}`, nil},
		{"calendar.holidays", `{"year":"2_026"}`, nil},
		{"calendar.holidays", `{"year":"1e99"}`, nil},
		{"convert.units", `{"value":"1.5e3","from":"m","to":"km"}`, map[string]any{"value": 1500.0, "from": "m", "to": "km"}},
		{"convert.units", `{"value":"1,500","from":"m","to":"km"}`, nil},
		{"convert.units", `{"value":"","from":"m","to":"km"}`, nil},
		{"convert.width", `{"text":"","to":"half","scope":""}`, map[string]any{"text": "", "to": "half", "scope": "all"}},
		{"convert.width", `{"text":"a","to":""}`, nil},
		{"account.put_tool_settings", `{"disabled_tools":null}`, map[string]any{}},
		{"account.put_tool_settings", `{"disabled_tools":""}`, nil}, // would switch every tool on
	} {
		o := op(t, c.id)
		args := map[string]any{}
		if err := json.Unmarshal([]byte(c.args), &args); err != nil {
			t.Fatal(err)
		}
		err := o.Validate(args)
		if (err == nil) != (c.want != nil) || err == nil && !reflect.DeepEqual(args, c.want) {
			t.Errorf("%s %s: %v, %v; want %v", c.id, c.args, args, err, c.want)
		}
	}
}

// TestDigitsAreKept: a number reaches the operation with all that was sent of it, by query, body
// and MCP, and from there the REST API. What a float64 holds is one, as ever.
func TestDigitsAreKept(t *testing.T) {
	for sent, want := range map[string]any{
		"9007199254740993":         json.Number("9007199254740993"),
		"-9007199254740993":        json.Number("-9007199254740993"),
		"9007199254740992":         9007199254740992.0,
		"0.1":                      0.1,
		"1.50":                     1.5,
		"1e3":                      1000.0,
		"100000000000000000000":    1e20,
		"0.12345678901234567890":   json.Number("0.12345678901234567890"),
		"1.2345678901234567891e30": json.Number("1.2345678901234567891e30"),
		"1e-999999999":             0.0,
		"1e999999999":              nil,
	} {
		o := op(t, "convert.units")
		for way, args := range map[string]map[string]any{
			"number": {"value": json.Number(sent), "from": "m", "to": "km"}, "text": {"value": sent, "from": "m", "to": "km"},
		} {
			err := o.Validate(args)
			if want == nil {
				if err == nil {
					t.Errorf("%s as %s is taken", sent, way)
				}
				continue
			}
			if err != nil || args["value"] != want {
				t.Errorf("%s as %s: %v, %v; want %v", sent, way, args["value"], err, want)
				continue
			}
			request, err := o.Request("http://api", args)
			if n, is := want.(json.Number); is && (err != nil || request.URL.Query().Get("value") != n.String()) {
				t.Errorf("%s: sent on as %s, %v", sent, request.URL, err)
			}
		}
	}
	body := map[string]any{}
	if err := decodeBody([]byte(`{"a":9007199254740993}`), body); err != nil || body["a"] != json.Number("9007199254740993") {
		t.Errorf("body: %v, %v", body, err)
	}
	nested := map[string]any{"disabled_tools": []any{json.Number("1")}}
	if err := op(t, "account.put_tool_settings").Validate(nested); err == nil || !strings.Contains(err.Error(), "integer") {
		t.Errorf("a number in a list of texts: %v", err)
	}
}

// TestEmptyQuery: ?x= is an argument left out, as "" is elsewhere.
func TestEmptyQuery(t *testing.T) {
	got, err := op(t, "postal.search").Bind(nil, map[string][]string{"prefix": {"1"}, "address": {""}, "limit": {""}}, nil)
	if want := map[string]any{"prefix": "1", "limit": 20.0}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestLeaveItOut: an error about an optional argument says that it can be left out, and one
// about a required argument doesn't.
func TestLeaveItOut(t *testing.T) {
	for id, c := range map[string]struct {
		args     map[string]any
		optional bool
	}{
		"postal.search":            {map[string]any{"prefix": "1", "limit": 500.0}, true},
		"convert.era":              {map[string]any{"date": "soon"}, true},
		"calendar.is_business_day": {map[string]any{"date": "2026-11-30", "bank_holidays": "yes"}, true},
		"calendar.holidays":        {map[string]any{"year": 1.0}, false},
		"postal.lookup":            {map[string]any{"postal_code": 600000.0}, false},
	} {
		if err := op(t, id).Validate(c.args); err == nil || strings.Contains(err.Error(), "leave it out") != c.optional {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestArgumentErrorsAreShort: whatever is sent, and wherever, an error repeats little of it.
func TestArgumentErrorsAreShort(t *testing.T) {
	const most = 1000
	api, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range api.Operations {
		s, err := o.Schemas()
		if err != nil {
			t.Fatal(err)
		}
		for _, unit := range []string{"<", "\"", "日", "\x01", "\xff", "1", "a-"} {
			long := strings.Repeat(unit, 1<<11)
			tried := []map[string]any{{long: "x"}}
			for name := range s.properties {
				tried = append(tried, map[string]any{name: long}, map[string]any{name: []any{long}}, map[string]any{name: map[string]any{long: long}})
			}
			for _, args := range tried {
				if err := o.Validate(args); err != nil && len(err.Error()) > most {
					t.Errorf("%s: an error of %d bytes: %.300s", o.ID, len(err.Error()), err)
				}
			}
			if _, err := o.Bind(nil, map[string][]string{long: {long}}, nil); err != nil && len(err.Error()) > most {
				t.Errorf("%s: an error of %d bytes: %.300s", o.ID, len(err.Error()), err)
			}
		}
	}
}

func TestBindSaysWhatIsWrong(t *testing.T) {
	q := func(pairs ...string) map[string][]string {
		out := map[string][]string{}
		for i := 0; i+1 < len(pairs); i += 2 {
			out[pairs[i]] = append(out[pairs[i]], pairs[i+1])
		}
		return out
	}
	for _, c := range []struct {
		id, param, says string
		query           map[string][]string
		body            string
	}{
		{"calendar.holidays", "year", "missing. Expected: 1970 to 2050.", nil, ""},
		{"calendar.holidays", "year", "not a whole number", q("year", "2026.5"), ""},
		{"calendar.holidays", "year", "not a whole number", q("year", ""), ""},
		{"calendar.holidays", "year", "1969 is less than 1970. Expected: 1970 to 2050.", q("year", "1969"), ""},
		{"calendar.holidays", "year", "given 2 times", q("year", "2026", "year", "2027"), ""},
		{"calendar.holidays", "yaer", "known: year", q("yaer", "2026"), ""},
		{"calendar.is_business_day", "bank_holidays", "neither true nor false", q("date", "2026-11-30", "bank_holidays", "yes"), ""},
		{"calendar.is_business_day", "date", `"30.11.2026" does not have the right form. Expected: YYYY-MM-DD`, q("date", "30.11.2026"), ""},
		{"convert.units", "value", "not a number", q("value", "NaN", "from", "m", "to", "km"), ""},
		{"convert.units", "value", "not a number", q("value", "Inf", "from", "m", "to", "km"), ""},
		{"postal.search", "address", "UTF-8", q("address", "\xff"), ""},
		{"postal.search", "prefix", "65 characters, more than 64", q("prefix", strings.Repeat("1", 65)), ""},
		{"convert.width", "", "not a JSON object", nil, ``},
		{"convert.width", "", "not a JSON object", nil, `null`},
		{"convert.width", "", "not a JSON object", nil, `[]`},
		{"convert.width", "", "one object only", nil, `{"text":"a","to":"half"}{}`},
		{"convert.width", "", "not UTF-8", nil, "{\"text\":\"\xff\"}"},
		{"convert.width", "to", "missing", nil, `{"text":"a"}`},
		{"convert.width", "to", "none of: half full", nil, `{"text":"a","to":"wide"}`},
		{"convert.width", "text", "a number, which loses leading zeros", nil, `{"text":5,"to":"half"}`},
		{"convert.width", "more", "known: scope, text, to", nil, `{"text":"a","to":"half","more":1}`},
		{"convert.width", "", "at most 65536", nil, `{"text":"` + strings.Repeat("a", MaxBody) + `"}`},
	} {
		_, err := op(t, c.id).Bind(nil, c.query, []byte(c.body))
		var argument *ArgumentError
		if !errors.As(err, &argument) {
			t.Errorf("%s %v %.40s: %v, want an argument error", c.id, c.query, c.body, err)
			continue
		}
		if argument.Param != c.param || !strings.Contains(argument.Message, c.says) {
			t.Errorf("%s %v %.40s: %q says %q; want %q to say %q", c.id, c.query, c.body, argument.Param, argument.Message, c.param, c.says)
		}
		if len(argument.Message) > 400 {
			t.Errorf("%s: a message of %d bytes", c.id, len(argument.Message))
		}
	}
}

// TestRequestComesBackThroughBind: business functions read exactly what the MCP function sends.
func TestRequestComesBackThroughBind(t *testing.T) {
	for _, c := range []struct {
		id   string
		args map[string]any
	}{
		{"postal.lookup", map[string]any{"postal_code": "１００ 0/00?#%1"}},
		{"postal.search", map[string]any{"address": "千代田区 丸の内&x=y+z", "limit": 7.0}},
		{"calendar.business_days", map[string]any{"date": "2026-11-30", "days": -10.0, "bank_holidays": true}},
		{"convert.units", map[string]any{"value": 1e21, "from": "m", "to": "km"}},
		{"convert.width", map[string]any{"text": "a\"\\\n", "to": "full", "scope": "ascii"}},
		{"account.put_tool_settings", map[string]any{"disabled_tools": []any{"postal.lookup"}}},
	} {
		o := op(t, c.id)
		request, err := o.Request("http://127.0.0.1:1/prod/", c.args)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(request.URL.String(), "http://127.0.0.1:1/prod/v1/") || request.Method != o.Method {
			t.Errorf("%s: %s %s", c.id, request.Method, request.URL)
		}
		var body []byte
		if request.Body != nil {
			if body, err = io.ReadAll(request.Body); err != nil {
				t.Fatal(err)
			}
		}
		// As a server receives it: parsed again from the request line.
		received := httptest.NewRequest(request.Method, request.URL.RequestURI(), nil)
		path := map[string]string{}
		if before, after, ok := strings.Cut(o.Path, "{"); ok {
			path[strings.TrimSuffix(after, "}")] = strings.TrimPrefix(received.URL.EscapedPath(), "/prod"+before)
		}
		got, err := o.Bind(path, received.URL.Query(), body)
		if err != nil {
			t.Errorf("%s: %v", c.id, err)
			continue
		}
		for name, want := range c.args {
			if !reflect.DeepEqual(got[name], want) {
				t.Errorf("%s: %s came back as %#v, want %#v", c.id, name, got[name], want)
			}
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, doc := range map[string]string{
		"no JSON":           `{`,
		"no operationId":    `{"paths":{"/a":{"get":{}}}}`,
		"an ID twice":       `{"paths":{"/a":{"get":{"operationId":"x"}},"/b":{"get":{"operationId":"x"}}}}`,
		"negative units":    `{"paths":{"/a":{"get":{"operationId":"x","x-sekisho":{"units":-1}}}}}`,
		"a header argument": `{"paths":{"/a":{"get":{"operationId":"x","parameters":[{"name":"h","in":"header"}]}}}}`,
		"a circle":          `{"paths":{"/a":{"get":{"operationId":"x","parameters":[{"$ref":"#/p"}]}}},"p":{"$ref":"#/p"}}`,
		"a dead reference":  `{"paths":{"/a":{"get":{"operationId":"x","parameters":[{"$ref":"#/q"}]}}}}`,
		"a counted call":    `{"paths":{"/a":{"get":{"operationId":"x","x-sekisho":{"units":1}}}},"x-sekisho-composite-tools":[{"name":"t","calls":["x"]}]}`,
		"a bad pattern":     `{"paths":{"/a":{"get":{"operationId":"x","parameters":[{"name":"q","in":"query","schema":{"type":"string","pattern":"("}}]}}}}`,
		"a bad answer":      `{"paths":{},"x-sekisho-composite-tools":[{"name":"t","output":{"$ref":"#/q"}}]}`,
		"a list as body":    `{"paths":{"/a":{"get":{"operationId":"x","requestBody":[]}}}}`,
		"a call of nothing": `{"paths":{},"x-sekisho-composite-tools":[{"name":"t","calls":["x"]}]}`,
	} {
		api, err := Parse([]byte(doc))
		if err == nil {
			err = api.CheckSchemas()
		}
		if err == nil {
			t.Errorf("%s: was read", name)
		}
	}
}

// TestSchemas: since schemas are only read on demand, this is what catches a broken one before
// a deployment does.
func TestSchemas(t *testing.T) {
	api, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	if err := api.CheckSchemas(); err != nil {
		t.Error(err)
	}
}

func FuzzBindQuery(f *testing.F) {
	f.Add("year", "2026", `{"text":"a","to":"half"}`)
	f.Add("date", "\xff", "[")
	holidays, width := op(f, "calendar.holidays"), op(f, "convert.width")
	f.Fuzz(func(t *testing.T, name, value, body string) {
		for _, o := range []*Operation{holidays, width} {
			_, err := o.Bind(nil, map[string][]string{name: {value}}, []byte(body))
			var argument *ArgumentError
			if err != nil && !errors.As(err, &argument) {
				t.Fatalf("%s: %v is no argument error", o.ID, err)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(document); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBind(b *testing.B) {
	o := op(b, "postal.lookup")
	path := map[string]string{"postal_code": "100-0001"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := o.Bind(path, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
}
