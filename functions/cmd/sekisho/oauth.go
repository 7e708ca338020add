package main

import (
	"errors"
	"fmt"
	"net"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/issuer"
	"sekisho/functions/internal/laptop"
)

// oauthFlags open the door for those who sign in.
type oauthFlags struct {
	OAuth bool `name:"oauth" help:"Open a door for hosts that take no key: their users sign in once with one (OAuth). It comes with --dispatch direct."`
	// OAuthListen is a pointer: only an address that was asked for has to be free.
	OAuthListen      *string `name:"oauth-listen" help:"Address of that door; by default 127.0.0.1:8790, or any free port if that one is taken." placeholder:"HOST:PORT"`
	OAuthIssuer      string  `name:"oauth-issuer" help:"Take access tokens (JWTs) of this authorization server, instead of having users sign in with a key." placeholder:"URL"`
	OAuthAudience    string  `name:"oauth-audience" help:"What those tokens must have in aud, or in client_id where they have no aud; several separated by commas." placeholder:"TEXT,…"`
	OAuthScope       string  `name:"oauth-scope" help:"A scope that those tokens must have." placeholder:"SCOPE"`
	OAuthNewUserPlan string  `name:"oauth-new-user-plan" help:"Make a user on this plan of everybody who signs in there; without it: sekisho keys create --issuer URL --sub SUB." placeholder:"NAME"`
}

// given: one of the flags was.
func (f oauthFlags) given() bool { return f != oauthFlags{} }

// dispatch is what the flags make of the one that was asked for; nil if none was.
func (f oauthFlags) dispatch(asked *string) (string, error) {
	switch {
	case asked == nil && f.OAuth:
		return boot.Direct, nil
	case asked == nil:
		return boot.Proxy, nil
	case *asked == boot.Proxy && f.OAuth:
		return "", errors.New("--oauth needs --dispatch direct: who signs in sends no key, so that mcp could send nothing on to the REST API")
	}
	return *asked, nil
}

// check refuses what no deployment could have.
func (f oauthFlags) check(d doorFlags) error {
	external := f.OAuthIssuer != ""
	switch {
	case f.given() && !f.OAuth:
		return errors.New("--oauth-listen, --oauth-issuer, --oauth-audience, --oauth-scope and --oauth-new-user-plan say more about the door that --oauth opens: give --oauth too")
	case f.OAuth && (d.Streaming || d.kind() == laptop.DoorURL):
		return errors.New("--oauth goes with --door rest or http, without --streaming: the OAuth door is an HTTP API, which can't read what mcp streams")
	case external != (f.OAuthAudience != ""):
		return errors.New("--oauth-issuer and --oauth-audience go together: without an audience, every token that the issuer makes for other services would be taken")
	case !external && (f.OAuthScope != "" || f.OAuthNewUserPlan != ""):
		return errors.New("--oauth-scope and --oauth-new-user-plan are about the tokens of --oauth-issuer: give that too")
	case external:
		return issuer.CheckURL(f.OAuthIssuer)
	}
	return nil
}

// set puts the flags into the functions' environment.
func (f oauthFlags) set(env map[string]string) {
	for name, value := range map[string]string{
		boot.OAuthIssuer: f.OAuthIssuer, boot.OAuthAudience: f.OAuthAudience, boot.OAuthScope: f.OAuthScope, boot.OAuthNewUserPlan: f.OAuthNewUserPlan,
	} {
		if value != "" {
			env[name] = value
		}
	}
}

// oauthListen is the address where none was asked for.
const oauthListen = "127.0.0.1:8790"

// listen takes the address.
func (f oauthFlags) listen() (net.Listener, error) {
	if f.OAuthListen == nil {
		if listener, err := net.Listen("tcp", oauthListen); err == nil {
			return listener, nil
		}
		return net.Listen("tcp", "127.0.0.1:0")
	}
	listener, err := net.Listen("tcp", *f.OAuthListen)
	if err != nil {
		return nil, badUsage(fmt.Errorf("listen on %s: %w; choose another address with --oauth-listen, port 0 for any free port", *f.OAuthListen, reason(err)))
	}
	return listener, nil
}

// openOAuth adds the OAuth door, whose routes are the contract's unless they are given.
func (d *doorway) openOAuth(f oauthFlags, door laptop.OAuthDoor) error {
	listener, err := f.listen()
	if err != nil {
		return err
	}
	door.Domain = listener.Addr().String()
	d.oauthListener, d.oauth = listener, &door
	return nil
}
