package backend

import (
	"strings"
	"testing"

	"sekisho/functions/internal/contract"
)

func TestSettings(t *testing.T) {
	for text, says := range map[string]string{
		``:   "",
		`{}`: "",
		`{"url":"https://a.example/v2","rate_per_second":1,"burst":5,"per_day":{"x.y":3}}`:                      "",
		`{"url":"http://10.0.0.1:8080","private":true,"auth":{"type":"basic","secret_arn":"arn:x"}}`:            "",
		`{"url":"https://a.example","auth":{"type":"header","name":"X-Key","scheme":"Token","parameter":"/p"}}`: "",
		`{"function_arn":"arn:aws:lambda:x","signing":{"parameter":"/p"}}`:                                      "",
		`[]`:                                                 "JSON object",
		`{"url":"https://a.example"}{}`:                      "something follows",
		`{"ulr":"https://a.example"}`:                        "unknown field",
		`{"url":"api.example.com"}`:                          "url: want",
		`{"url":"ftp://a.example"}`:                          "url: want",
		`{"url":"https://u:SECRET@a.example"}`:               "url: want",
		`{"url":"https://a.example?key=SECRET"}`:             "url: want",
		`{"url":"https://a.example/#x"}`:                     "url: want",
		`{"url":"https://a.example","function_arn":"arn:x"}`: "give one",
		`{"function_arn":"arn:x","auth":{"type":"bearer","parameter":"/p"}}`:                            "auth: a function",
		`{"url":"https://a.example","auth":{"type":"bearer"}}`:                                          "where the secret is",
		`{"url":"https://a.example","auth":{"type":"bearer","parameter":"/p","secret_arn":"arn:x"}}`:    "where the secret is",
		`{"url":"https://a.example","auth":{"type":"query","parameter":"/p"}}`:                          "name: is missing",
		`{"url":"https://a.example","auth":{"type":"token","parameter":"/p"}}`:                          "type: give bearer",
		`{"url":"https://a.example","auth":{"type":"header","name":"Cookie","parameter":"/p"}}`:         "can't carry a credential",
		`{"url":"https://a.example","auth":{"type":"header","name":"X-Sekisho-User","parameter":"/p"}}`: "can't carry a credential",
		`{"url":"https://a.example","rate_per_second":0}`:                                               "rate_per_second, burst",
		`{"url":"https://a.example","burst":5}`:                                                         "goes with rate_per_second",
		`{"url":"https://a.example","per_day":{"x.y":-1}}`:                                              "per_day",
		`{"url":"https://a.example","timeout_seconds":-1}`:                                              "timeout_seconds",
	} {
		s, err := Parse(text)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "SECRET")) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
		if again, err := Parse(s.String()); says == "" && (err != nil || again.String() != s.String()) {
			t.Errorf("%s: written as %s: %v", text, s, err)
		}
	}
}

func TestSigningKey(t *testing.T) {
	for text, want := range map[string]string{
		"0123456789abcdef": "0123456789abcdef", " new-0123456789abc, old-0123456789abc\n": "new-0123456789abc",
		"": "", "short": "", "0123456789abcdef short": "", "a0123456789abcdef b0123456789abcdef c0123456789abcdef": "",
	} {
		if got, err := SigningKey(text); got != want || (err == nil) != (want != "") || err != nil && text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// TestShown: whatever came, an agent reads one JSON object.
func TestShown(t *testing.T) {
	for _, c := range []struct{ answer, body, want string }{
		{contract.AnswerObject, `{"a":1}`, `{"a":1}`},
		{contract.AnswerObject, ` [1] `, `{"result":[1]}`},
		{contract.AnswerObject, `"<"`, `{"result":"<"}`},
		{contract.AnswerObject, `plain`, `{"text":"plain"}`},
		{contract.AnswerObject, ``, `{"status":201,"location":"/7"}`},
		{contract.AnswerWrapped, `{"a":1}`, `{"result":{"a":1}}`},
		{contract.AnswerWrapped, `7`, `{"result":7}`},
		{contract.AnswerText, `{"a":1}`, `{"text":"{\"a\":1}"}`},
	} {
		if got := string(Shown(&contract.Operation{Answer: c.answer}, 201, "/7", []byte(c.body))); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.answer, c.body, got, c.want)
		}
	}
}
