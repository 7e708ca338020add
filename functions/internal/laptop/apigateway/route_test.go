package apigateway

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRoutes(t *testing.T) {
	f := newFixture(t, script{})
	for _, tc := range []struct {
		method, path, resource string
		params                 map[string]string
	}{
		{"GET", "/things", "/things", nil},
		{"GET", "/things/", "/things", nil},
		{"GET", "/things//", "/things", nil},
		{"GET", "//things", "/things", nil},
		{"GET", "/things/special", "/things/special", nil},
		{"GET", "/things/special/", "/things/special", nil},
		{"GET", "/things/7", "/things/{id}", map[string]string{"id": "7"}},
		{"GET", "/things/7/", "/things/{id}", map[string]string{"id": "7"}},
		{"PUT", "/things/7", "/things/{id}", map[string]string{"id": "7"}},
		// The resource is chosen by path, then it lacks the method.
		{"PUT", "/things/special", "", nil},
		{"DELETE", "/things/7", "", nil},
		{"POST", "/things", "", nil},
		{"get", "/things", "", nil},
		// Parameters stay encoded, and an encoded slash is no slash.
		{"GET", "/things/a%2Fb", "/things/{id}", map[string]string{"id": "a%2Fb"}},
		{"GET", "/things/%EF%BC%91", "/things/{id}", map[string]string{"id": "%EF%BC%91"}},
		{"GET", "/things/a+b", "/things/{id}", map[string]string{"id": "a+b"}},
		{"GET", "/things/..", "/things/{id}", map[string]string{"id": ".."}},
		{"GET", "/things/7/parts", "", nil},
		{"GET", "/t%68ings", "", nil},
		{"DELETE", "/files/a/b/c", "/files/{proxy+}", map[string]string{"proxy": "a/b/c"}},
		{"GET", "/files/a/../b/", "/files/{proxy+}", map[string]string{"proxy": "a/../b"}},
		{"GET", "/files/a//b", "/files/{proxy+}", map[string]string{"proxy": "a//b"}},
		{"GET", "/files", "", nil},
		{"PATCH", "/open", "/open", nil},
		{"TRACE", "/open", "", nil},
		{"GET", "/", "", nil},
		{"GET", "/.well-known/oauth-protected-resource", "", nil},
		{"OPTIONS", "*", "", nil},
	} {
		t.Run(tc.method+" "+tc.path, func(t *testing.T) {
			f.proxied = nil
			w := f.call(tc.method, tc.path, "")
			if tc.resource == "" {
				wantStatus(t, w, http.StatusForbidden) // this description has no 404
				wantHeader(t, w.Header(), "x-amzn-ErrorType", "MissingAuthenticationTokenException")
				if len(f.proxied) != 0 {
					t.Error("a function was invoked")
				}
				return
			}
			wantStatus(t, w, http.StatusOK)
			e := f.lastEvent(t)
			if e.Resource != tc.resource || !maps.Equal(e.PathParameters, tc.params) {
				t.Errorf("resource %s %v, want %s %v", e.Resource, e.PathParameters, tc.resource, tc.params)
			}
			if want := "/" + strings.TrimLeft(tc.path, "/"); e.Path != want {
				t.Errorf("event.path is %q, want %q", e.Path, want)
			}
		})
	}
}

// TestNoRedirects goes through a real server and client.
func TestNoRedirects(t *testing.T) {
	f := newFixture(t, script{})
	server := httptest.NewUnstartedServer(f)
	server.Config.DisableGeneralOptionsHandler = true
	server.Start()
	defer server.Close()
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for path, status := range map[string]int{
		"/things/": 200, "//things": 200, "/things/../things": 403, "/open/": 200, "/things/a%2F..%2Fb": 200,
	} {
		response, err := client.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != status {
			t.Errorf("%s: status %d, want %d", path, response.StatusCode, status)
		}
	}
	r, err := http.NewRequest("OPTIONS", server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.URL.Opaque = "*"
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != 403 {
		t.Errorf("OPTIONS *: status %d", response.StatusCode)
	}
	client.CloseIdleConnections()
}

// TestLargeBodies goes through a real server and client.
func TestLargeBodies(t *testing.T) {
	f := newFixture(t, script{})
	server := httptest.NewUnstartedServer(f)
	server.Config.DisableGeneralOptionsHandler = true
	server.Start()
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	for _, tc := range []struct {
		body   io.Reader
		status int
	}{
		{strings.NewReader(strings.Repeat("x", 5<<20)), 200},
		{io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20))), 200}, // chunked
		{io.MultiReader(strings.NewReader(strings.Repeat("x", maxBody+1))), 413},
	} {
		response, err := client.Post(server.URL+"/open", "text/plain", tc.body)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != tc.status {
			t.Errorf("status %d, want %d", response.StatusCode, tc.status)
		}
	}
}

func TestStageInPath(t *testing.T) {
	f := newFixture(t, script{change: func(c *setup) { c.StageInPath = true }})
	wantStatus(t, f.call("GET", "/dev/things/7/", ""), http.StatusOK)
	if e := f.lastEvent(t); e.Path != "/things/7/" || e.RequestContext.Path != "/dev/things/7/" || e.RequestContext.Stage != "dev" {
		t.Errorf("path %q, requestContext.path %q", e.Path, e.RequestContext.Path)
	}
	wantStatus(t, f.call("GET", "/things/7", ""), http.StatusForbidden)
	wantStatus(t, f.call("GET", "/device/things/7", ""), http.StatusForbidden)
}

func TestFunctionInURI(t *testing.T) {
	for text, want := range map[string]string{
		uri("postal"):      "postal",
		uri("postal:live"): "postal",
		uri("a-b_c"):       "a-b_c",
		"":                 "",
		"arn:aws:lambda:eu-west-1:123456789012:function:x": "",
	} {
		if got := functionInURI(text); got != want {
			t.Errorf("functionInURI(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestSharedResource: of a contract the gateway serves what Terraform's projection would have, one
// ANY for the operations that share a path.
func TestSharedResource(t *testing.T) {
	f := newFixture(t, script{change: func(c *setup) {
		c.Description = []byte(`{"security":[{"key":[]}],"paths":{
			"/o/{id}":{"get":{"operationId":"o.get","x-sekisho":{"function":"things","resource":"/o/{proxy+}"}}},
			"/o/{id}:pay":{"post":{"operationId":"o.pay","x-sekisho":{"function":"things","resource":"/o/{proxy+}"}}},
			"/o":{"get":{"operationId":"o.list","x-sekisho":{"function":"things"}}},
			"/p/{key}/":{"get":{"operationId":"p.get","x-sekisho":{"function":"things","resource":"/p/{id}"}}}}}`)
	}})
	for asked, want := range map[string]string{
		"GET /o/7": "/o/{proxy+} map[proxy:7]", "POST /o/7:pay": "/o/{proxy+} map[proxy:7:pay]", "DELETE /o/x/y": "/o/{proxy+} map[proxy:x/y]",
		"GET /o": "/o map[]", "GET /p/7/": "/p/{id} map[id:7]", "POST /o": "", "POST /p/7": "",
	} {
		method, path, _ := strings.Cut(asked, " ")
		f.proxied = nil
		w := f.call(method, path, "")
		got := ""
		if w.Code == http.StatusOK {
			e := f.lastEvent(t)
			got = fmt.Sprintf("%s %v", e.Resource, e.PathParameters)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", asked, got, want)
		}
	}
}
