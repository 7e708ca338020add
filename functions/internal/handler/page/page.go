// Package page serves the page for key holders: static files, with no key and no figure in them.
// The browser asks the API for those, as any other client.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"go.uber.org/zap"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/clientconfig"
	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/problem"
)

//go:embed static
var static embed.FS

const (
	index = "index.html"
	// clients is made of the package clientconfig, and no file.
	clients = "clients.json"
	// placeholder in the page's addresses takes the API's path and the files' version.
	placeholder = `"page/`
	// elsewhere takes the address of MCP, if it has a door of its own.
	elsewhere = `<meta name="mcp" content="">`
)

// headers of every answer. Whatever a label holds, a browser runs no script but the page's own, sends
// nothing elsewhere, and makes no HTML of text.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"Vary":                         "Accept-Encoding", // API Gateway compresses
}

// contentTypes of the kinds of files that there are. There is no other, so that no browser guesses.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
	".txt":  "text/plain; charset=utf-8",
}

// site is all files by name. Their version is in the addresses of all but the page, so that a
// browser keeps them for good and never uses an old one.
type site struct {
	files   map[string][]byte
	version string
	mcp     string // where MCP is, "" for below the API
	log     *zap.Logger
	now     func() time.Time
}

// Build makes the function.
func Build(rt boot.Runtime) (boot.Invoker, error) {
	s, err := newSite()
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	s.log, s.now, s.mcp = rt.Log, rt.Now, rt.Env(boot.MCPURL)
	panicked := func(recovered any, stack []byte) {
		s.log.Error("panic", zap.String("value", boot.Panic(recovered)), zap.ByteString("stack", stack))
	}
	return gateway.Handler(s, panicked), nil
}

func newSite() (*site, error) {
	s := &site{files: map[string][]byte{}}
	err := fs.WalkDir(static, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		s.files[path.Base(name)], err = static.ReadFile(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	if s.files[clients], err = json.Marshal(clientconfig.Clients()); err != nil {
		return nil, err
	}
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		fmt.Fprintf(hash, "%s %d\n%s\n", name, len(s.files[name]), s.files[name])
	}
	s.version = hex.EncodeToString(hash.Sum(nil)[:8])
	return s, nil
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := s.now()
	event, ok := gateway.Event(r.Context())
	if !ok {
		panic("there is no event")
	}
	for header, value := range headers {
		w.Header().Set(header, value)
	}
	name, status := s.send(w, r, event)
	s.log.Info("call", zap.String("request_id", event.RequestContext.ExtendedRequestID), zap.String("file", name),
		zap.Int("status", status), zap.Int64("ms", s.now().Sub(started).Milliseconds()))
}

// send answers with the file that an event asks for, and returns its name, "" if there is none.
func (s *site) send(w http.ResponseWriter, r *http.Request, event *events.APIGatewayProxyRequest) (name string, status int) {
	name, content := s.find(event)
	if name == "" {
		p := problem.New(problem.RouteNotFound, "")
		w.Header().Set("Content-Type", problem.ContentType)
		w.WriteHeader(p.Status)
		_, _ = w.Write(p.JSON()) // into memory, as below
		return "", p.Status
	}
	tag := entityTag(content)
	w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
	w.Header().Set("Cache-Control", s.cacheControl(event))
	w.Header().Set("ETag", tag)
	if strings.Contains(strings.Join(r.Header.Values("If-None-Match"), ","), tag) { // weak ones match too
		w.WriteHeader(http.StatusNotModified)
		return name, http.StatusNotModified
	}
	_, _ = w.Write(content)
	return name, http.StatusOK
}

// find returns the file that an event asks for; its name is "" if there is none.
func (s *site) find(event *events.APIGatewayProxyRequest) (name string, content []byte) {
	name, named := event.PathParameters["file"]
	if !named {
		return index, s.page(event)
	}
	if content, ok := s.files[name]; ok && name != index {
		return name, content
	}
	return "", nil
}

// page has the API's path in its addresses: relative ones would lead elsewhere where the path of a
// stage comes without its final slash.
func (s *site) page(event *events.APIGatewayProxyRequest) []byte {
	at := `"` + html.EscapeString(gateway.BasePath(event)) + "/page/" + s.version + "/"
	page := bytes.ReplaceAll(s.files[index], []byte(placeholder), []byte(at))
	return bytes.Replace(page, []byte(elsewhere), []byte(strings.Replace(elsewhere, `""`, `"`+html.EscapeString(s.mcp)+`"`, 1)), 1)
}

// cacheControl of a file under another version is that of the page: while a new version is deployed,
// it may come from the one that is there.
func (s *site) cacheControl(event *events.APIGatewayProxyRequest) string {
	if event.PathParameters["version"] == s.version {
		return "public, max-age=31536000, immutable"
	}
	return "no-cache"
}

func entityTag(content []byte) string {
	hash := sha256.Sum256(content)
	return `"` + hex.EncodeToString(hash[:8]) + `"`
}
