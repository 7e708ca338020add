package main

import (
	"fmt"
	"net"

	"sekisho/functions/internal/boot"
	"sekisho/functions/internal/laptop"
)

// doorFlags say how /mcp is reached.
type doorFlags struct {
	// Door is a pointer, so that --applied sees whether it was given.
	Door       *string `help:"What /mcp is reached by: rest (the REST API), which is the default, http (an HTTP API) or url (a function URL, which streams; needs --dispatch direct)." enum:"rest,http,url" placeholder:"DOOR"`
	DoorListen string  `name:"door-listen" help:"Address of the doors http and url; port 0 takes any free one." default:"127.0.0.1:8789" placeholder:"HOST:PORT"`
	Streaming  bool    `help:"Let the REST API send progress as it happens."`
}

func (f doorFlags) kind() string {
	if f.Door == nil {
		return laptop.DoorREST
	}
	return *f.Door
}

// check refuses what no deployment could have.
func (f doorFlags) check(dispatch string) error {
	if f.Streaming && f.kind() != laptop.DoorREST {
		return fmt.Errorf("--streaming is for the door rest: an HTTP API can't stream, and a function URL always does; not with --door %s", f.kind())
	}
	return laptop.CheckDoor(f.kind(), dispatch)
}

// environment is what mcp is told of its door.
func (f doorFlags) environment() map[string]string {
	if f.Streaming || f.kind() == laptop.DoorURL {
		return map[string]string{boot.Streaming: "true"}
	}
	return nil
}

// doorway is where a service listens beside the REST API, if it does.
type doorway struct {
	net.Listener
	door *laptop.Door

	oauthListener net.Listener
	oauth         *laptop.OAuthDoor
}

// open takes the address of a door of this kind.
func (f doorFlags) open(kind string) (doorway, error) {
	if kind == laptop.DoorREST {
		return doorway{}, nil
	}
	listener, err := net.Listen("tcp", f.DoorListen)
	if err != nil {
		return doorway{}, badUsage(fmt.Errorf("listen on %s: %w; choose another address with --door-listen, port 0 for any free port", f.DoorListen, reason(err)))
	}
	return doorway{Listener: listener, door: &laptop.Door{Kind: kind, Domain: listener.Addr().String()}}, nil
}

// close is for a doorway that may not be there.
func (d doorway) close() {
	for _, listener := range []net.Listener{d.Listener, d.oauthListener} {
		if listener != nil {
			_ = listener.Close() // after an error, or once more
		}
	}
}

// addresses of a service; oauth is "" without a door for those who sign in.
type addresses struct{ api, mcp, oauth string }

// at makes them of that of the REST API, which the door passes on.
func (d doorway) at(api string) addresses {
	at := addresses{api: api, mcp: api + "/mcp"}
	if d.door != nil {
		d.door.RESTAddress = api
		at.mcp = d.url()
	}
	if d.oauth != nil {
		at.oauth = d.oauth.Address() + "/mcp"
	}
	return at
}

// url is where MCP is.
func (d doorway) url() string { return "http://" + d.door.Domain + "/mcp" }
