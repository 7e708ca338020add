package contract

import (
	"encoding/json"
	"io"
	"reflect"
	"testing"
)

// TestListsTravel from MCP through the REST API to the function, as they were.
func TestListsTravel(t *testing.T) {
	api, err := Parse([]byte(`{"paths":{"/x/{ids}":{"post":{"operationId":"x.do","x-sekisho":{"units":1},"parameters":[
	 {"name":"ids","in":"path","required":true,"schema":{"type":"array","items":{"type":"integer"}}},
	 {"name":"tags","in":"query","schema":{"type":"array","items":{"type":"string"}}},
	 {"name":"flags","in":"query","schema":{"type":"array","items":{"type":"boolean"}}},
	 {"name":"nested","in":"query","schema":{"type":"array","items":{"type":"object"}}},
	 {"name":"filter","in":"query","schema":{"type":"object"}}],
	 "requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"n":{"type":"array","items":{"type":"number"}}}}}}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	op := api.Operation("x.do")
	for _, text := range []string{
		`{"ids":[1,2],"tags":["a","b,c"],"flags":[true,false],"nested":[{"a":[1]}],"filter":{"s":"x","n":1},"n":[1,2]}`,
		`{"ids":[1],"tags":["[a"]}`, `{"ids":[1],"tags":["1"]}`, `{"ids":[7],"tags":[]}`, `{"ids":[7],"tags":["","x"],"flags":[true]}`,
	} {
		var args, want map[string]any
		if err := json.Unmarshal([]byte(text), &args); err != nil {
			t.Fatal(err)
		}
		_ = json.Unmarshal([]byte(text), &want)
		r, err := op.Request("http://127.0.0.1", args)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(r.Body)
		got, err := op.Bind(map[string]string{"ids": r.URL.EscapedPath()[len("/x/"):]}, r.URL.Query(), body)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v by %s", text, err, got, r.URL)
		}
	}
	got, err := op.Bind(map[string]string{"ids": "1,2"}, nil, []byte(`{"n":"[1, 2.5]"}`))
	if err != nil || !reflect.DeepEqual(got, map[string]any{"ids": []any{1.0, 2.0}, "n": []any{1.0, 2.5}}) {
		t.Errorf("%v %v", got, err)
	}
	if _, err := op.Bind(map[string]string{"ids": "1,x"}, nil, []byte(`{}`)); err == nil {
		t.Error("a list with what is no number was taken")
	}
}
