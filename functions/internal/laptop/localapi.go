package laptop

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"sekisho/functions/internal/brake"
)

// localPrefix starts the paths that only the laptop has.
const localPrefix = "/_local/"

// maxLocalBody is the largest body below /_local/, in bytes: SNS's own limit for a message
// (docs.aws.amazon.com/sns/latest/api/API_Publish.html).
const maxLocalBody = 256 << 10

// localAPI shows what CloudWatch and API Gateway would show in AWS, works the brake, and
// publishes to topics.
//
// It can stop the service, so it is for programs of the laptop's owner only. The token is
// what proves that: only the data directory has it. The other checks keep out web pages
// (DNS rebinding included) and tunnels that forward the port, should the token ever leak.
type localAPI struct {
	service *Service
	// address is host and port of the listener.
	address string
	token   string
}

// BrakeOrder is the body of POST /_local/brake.
type BrakeOrder struct {
	On *bool `json:"on"`
	// Reason goes into the message to finance.
	Reason string `json:"reason,omitempty"`
}

func (l localAPI) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+localPrefix+"invocations", l.invocations)
	mux.HandleFunc("GET "+localPrefix+"functions", l.functions)
	mux.HandleFunc("GET "+localPrefix+"stage", l.stage)
	mux.HandleFunc("GET "+localPrefix+"description", l.description)
	mux.HandleFunc("GET "+localPrefix+"brake", l.brakeStatus)
	mux.HandleFunc("POST "+localPrefix+"brake", l.workBrake)
	mux.HandleFunc("GET "+localPrefix+"topics/{name}", l.messages)
	mux.HandleFunc("POST "+localPrefix+"topics/{name}", l.publish)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := l.admit(r); err != nil {
			writeError(w, http.StatusForbidden, err)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// admit lets a request pass that comes from this machine, straight and with the token. The
// error says what is wrong, so that an owner can put it right.
func (l localAPI) admit(r *http.Request) error {
	if l.token == "" {
		return errors.New("/_local/ is not served here")
	}
	if !isFromHere(r) {
		return errors.New("only this machine may call /_local/")
	}
	own, port, _ := net.SplitHostPort(l.address)
	host, asked, err := net.SplitHostPort(r.Host)
	if err != nil || asked != port || !slices.Contains([]string{"127.0.0.1", "::1", "localhost", own}, strings.ToLower(host)) {
		return fmt.Errorf("call /_local/ as 127.0.0.1:%s, [::1]:%s or localhost:%s", port, port, port)
	}
	for name := range r.Header {
		if name == "Origin" || name == "Forwarded" || name == "Via" || name == "X-Real-Ip" || strings.HasPrefix(name, "X-Forwarded") {
			return fmt.Errorf("neither a web page nor a proxy may call /_local/: the request has the header %s", name)
		}
	}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || subtle.ConstantTimeCompare([]byte(token), []byte(l.token)) != 1 {
		return errors.New("send Authorization: Bearer TOKEN, with the token in service.json in the data directory; each start makes a new one")
	}
	return nil
}

// isFromHere: the peer has a loopback address, or the very address that it called.
func isFromHere(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	called, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return peer.Addr().Unmap().IsLoopback() || called != nil && called.AddrPort().Addr() == peer.Addr()
}

func (l localAPI) invocations(w http.ResponseWriter, _ *http.Request) {
	invocations := map[string]int{}
	for name, counts := range l.service.Functions.Counts() {
		invocations[name] = counts.Invocations
	}
	writeJSON(w, http.StatusOK, invocations)
}

func (l localAPI) functions(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, l.service.Functions.Counts())
}

func (l localAPI) stage(w http.ResponseWriter, _ *http.Request) {
	gateway := l.service.gateway
	writeJSON(w, http.StatusOK, map[string]any{"name": gateway.Stage(), "variables": gateway.Settings().Variables})
}

func (l localAPI) description(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(l.service.gateway.Description())
}

var errNoBrake = errors.New("this service has no brake; that of a deployment is reached with sekisho brake --function")

func (l localAPI) brakeStatus(w http.ResponseWriter, r *http.Request) {
	if l.service.Brake == nil {
		writeError(w, http.StatusNotFound, errNoBrake)
		return
	}
	status, err := l.service.Brake.Status(r.Context())
	if err != nil {
		writeError(w, http.StatusInternalServerError, err)
		return
	}
	writeJSON(w, http.StatusOK, status)
}

// workBrake answers when the brake is on, or off, with its status.
func (l localAPI) workBrake(w http.ResponseWriter, r *http.Request) {
	b := l.service.Brake
	if b == nil {
		writeError(w, http.StatusNotFound, errNoBrake)
		return
	}
	var order BrakeOrder
	if err := readJSON(w, r, &order); err != nil || order.On == nil {
		writeError(w, http.StatusBadRequest, errors.Join(err, errors.New(`send {"on": true, "reason": "…"} or {"on": false}`)))
		return
	}
	// A client that goes away must not leave the brake half-way.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), l.service.api.Function(BrakeFunction).Timeout)
	defer cancel()
	var err error
	if *order.On {
		_, err = b.Trip(ctx, brake.ByHand(order.Reason), l.service.now())
	} else {
		_, err = b.Release(ctx)
	}
	if err != nil {
		writeError(w, http.StatusInternalServerError, err)
		return
	}
	l.brakeStatus(w, r)
}

func (l localAPI) messages(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, l.service.topics.Kept(r.PathValue("name")))
}

// publish answers when the message was delivered.
func (l localAPI) publish(w http.ResponseWriter, r *http.Request) {
	var m events.SNSEntity
	if err := readJSON(w, r, &m); err != nil || m.Message == "" {
		writeError(w, http.StatusBadRequest, errors.Join(err, errors.New(`send {"Subject": "…", "Message": "…"} and, for drills, "Timestamp" and "MessageAttributes"`)))
		return
	}
	if l.service.Brake == nil {
		writeError(w, http.StatusNotFound, errNoBrake)
		return
	}
	id, err := l.service.topics.Publish(r.PathValue("name"), m)
	if err != nil {
		writeError(w, http.StatusBadGateway, fmt.Errorf("message %s: the function failed: %w", id, err))
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"MessageId": id})
}

func readJSON(w http.ResponseWriter, r *http.Request, into any) error {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLocalBody))
	if err != nil {
		return fmt.Errorf("the body could not be read: %w", err)
	}
	return json.Unmarshal(raw, into)
}

func writeError(w http.ResponseWriter, status int, err error) {
	writeJSON(w, status, map[string]string{"message": err.Error()})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // all that is sent here encodes
}
