package relay

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"go.uber.org/zap"

	"sekisho/functions/internal/backend"
	"sekisho/functions/internal/handler/rest"
	"sekisho/functions/internal/outbound"
	"sekisho/functions/internal/problem"
)

// overHTTP asks a backend at a URL.
type overHTTP struct {
	client *outbound.Client
	// base has no slash at its end.
	base string
	host string
	auth *backend.Auth
	// credential is what auth sends; nil sends none.
	credential *Secret
}

func (b overHTTP) sendsCredential() bool { return b.credential != nil }

// ask notes in the log line what the call took. A refusal of the credential is tried again only
// if that has changed meanwhile, and with what is left of the attempts.
func (b overHTTP) ask(ctx context.Context, call rest.Call, r request) (outbound.Response, error) {
	var tally outbound.Tally
	var came outbound.Response
	out := b.outgoing(r)
	out.Observe = tally.Observe
	credential, err := b.credential.Get(ctx)
	if err == nil {
		came, err = b.send(ctx, r, out, credential)
	}
	if left := tally.Left(); credentialRefused(err) && left > 0 {
		if renewed, ok := b.credential.Renew(ctx, credential); ok {
			out.Attempts = left
			came, err = b.send(ctx, r, out, renewed)
		}
	}
	call.Note(zap.Int("attempts", tally.Attempts))
	call.Note(zap.Int("retries", tally.Retries))
	call.Note(zap.Int64("waited_ms", tally.Waited.Milliseconds()))
	note(call, b.host, err)
	return came, b.withoutOurRefusal(err)
}

// outgoing is the request but for the credential.
func (b overHTTP) outgoing(r request) outbound.Request {
	out := outbound.Request{
		Method: r.method, URL: b.base + r.target(), Header: r.header, Body: r.body,
		KeepRefusals: true, Gate: r.gate,
	}
	if r.sign != nil {
		out.Sign = func(onWire *http.Request) string {
			headers := r.sign(onWire.URL.RequestURI())
			for name, value := range headers {
				onWire.Header.Set(name, value)
			}
			_, secret, _ := strings.Cut(headers[backend.SignatureHeader], "=")
			return secret
		}
	}
	return out
}

// send makes the call with this credential, "" for none.
func (b overHTTP) send(ctx context.Context, r request, out outbound.Request, credential string) (outbound.Response, error) {
	out.Header, out.Secrets = maps.Clone(out.Header), []string{}
	if credential != "" {
		b.attach(&out, credential)
	}
	return outbound.Do(ctx, b.client, out, func(resp outbound.Response) (outbound.Response, error) {
		return resp, readable(r.operation, resp)
	})
}

// attach adds the credential, and says what of the request is secret by it.
func (b overHTTP) attach(out *outbound.Request, credential string) {
	out.Secrets = append(out.Secrets, credential)
	switch b.auth.Type {
	case backend.Bearer:
		out.Token = credential
	case backend.Header:
		out.Header.Set(b.auth.Name, strings.TrimSpace(b.auth.Scheme+" "+credential))
	case backend.Basic:
		if b.auth.Name != "" {
			credential = b.auth.Name + ":" + credential
		}
		encoded := base64.StdEncoding.EncodeToString([]byte(credential))
		out.Header.Set("Authorization", "Basic "+encoded)
		_, password, _ := strings.Cut(credential, ":")
		out.Secrets = append(out.Secrets, encoded, password)
	case backend.Query:
		separator := "?"
		if strings.Contains(out.URL, "?") {
			separator = "&"
		}
		out.URL += separator + encode(b.auth.Name) + "=" + encode(credential)
	}
}

// withoutOurRefusal drops the answer that refuses this server's own credential.
func (b overHTTP) withoutOurRefusal(err error) error {
	var refused *outbound.StatusError
	if errors.As(err, &refused) && blamesUs(refused.Status, b.sendsCredential()) {
		refused.Answer = nil
	}
	return err
}

// credentialRefused: 401 and nothing else. A 403 refuses the call, not the credential.
func credentialRefused(err error) bool {
	var e *outbound.Error
	return errors.As(err, &e) && e.Status == http.StatusUnauthorized
}

// reasonOf is why a call of a backend failed, in a word of ours; "" if it did not.
func reasonOf(err error) string {
	var e *outbound.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return string(e.Reason)
	}
	return string(problem.From(err).Code)
}

func note(call rest.Call, upstream string, err error) {
	call.Note(zap.String("upstream", upstream))
	var e *outbound.Error
	if errors.As(err, &e) {
		call.Note(zap.String("upstream_failure", string(e.Reason)))
		call.Note(zap.String("stopped", string(e.Stop)))
		call.Note(zap.Int("upstream_status", e.Status))
	}
}

// continued is the base URL as requests continue it.
func continued(u *url.URL) string { return strings.TrimRight(u.String(), "/") }
