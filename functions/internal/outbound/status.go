package outbound

import (
	"fmt"
	"net/http"
)

// party is who can do something about a failure.
type party string

const (
	caller   party = "caller"   // by other arguments
	owner    party = "owner"    // of this server: its configuration, account or token
	operator party = "operator" // of the upstream, or of a proxy in front of it
)

// remedies are what an agent should do about a permanent failure, unless its status says
// more.
var remedies = map[party]string{
	caller:   "Don't retry with the same arguments; correct them first.",
	owner:    "Don't retry, and don't change your arguments: the server's owner must check the upstream's URL and configuration.",
	operator: "Don't retry, and don't change your arguments: tell the user that the upstream is at fault.",
}

// meaning is what an HTTP status says.
type meaning struct {
	verdict
	code   Code
	party  party
	says   string // a sentence without its full stop
	remedy string // of a permanent failure; "" is the party's
}

// meaningOf never fails: a status that nobody registered is one of its class, as RFC 9110,
// 15 has it, except that a 5xx is then not tried again.
func meaningOf(status int) meaning {
	if m, ok := meanings[status]; ok {
		return m
	}
	switch status / 100 {
	case 4:
		return meaning{verdict{ReasonRejected, Permanent, false}, CodeRejected, operator, "The upstream refused the call for a reason of its own",
			"Don't retry as it is. Whether the arguments or the upstream are at fault is not known; tell the user."}
	case 5:
		return meaning{verdict{ReasonStatus, Permanent, true}, CodeFailed, operator, "The upstream failed in a way of its own", ""}
	}
	return meaning{verdict{ReasonStatus, Permanent, status == http.StatusSeeOther}, CodeMisconfigured, owner, "The upstream gave an unexpected answer", ""}
}

func (m meaning) hint(status int) string {
	return fmt.Sprintf("%s (HTTP %d). %s", m.says, status, orDefault(m.remedy, remedies[m.party]))
}

// Verdicts that several statuses share. See [verdict] for when one is ambiguous.
var (
	rejected    = verdict{ReasonRejected, Permanent, false}
	auth        = verdict{ReasonAuth, Permanent, false}
	unsupported = verdict{ReasonStatus, Permanent, true}
	notReached  = verdict{ReasonUnavailable, Transient, false} // refused ahead of any work
	broken      = verdict{ReasonBadGateway, Transient, true}
	timedOut    = verdict{ReasonGatewayTimeout, Transient, true}
)

const fixToken = "Don't retry, and don't change your API key: the server's owner must fix the upstream token or its permissions."

// meanings is the one table of statuses: IANA's registry, then those that proxies, clouds
// and frameworks made up and upstreams commonly send. 429, 500, 502, 503 and 504 set the
// rule: what passes by itself is transient, 500 is tried once more, the rest is permanent.
var meanings = map[int]meaning{
	400: {rejected, CodeRejected, caller, "The upstream refused the input", ""},
	401: {auth, CodeAuth, owner, "The upstream refused this server's own credentials", fixToken},
	402: {auth, CodeAuth, owner, "The upstream wants a payment for this server's account", "Don't retry, and don't change your arguments: the server's owner must settle it with the upstream."},
	403: {auth, CodeAuth, owner, "The upstream refused this server's own credentials", fixToken},
	404: {verdict{ReasonNotFound, Permanent, false}, CodeNotFound, caller, "The upstream has no such resource", "Don't retry with the same identifier; check it. If it is right, tell the user that the upstream lacks it."},
	405: {rejected, CodeMisconfigured, owner, "The upstream does not take this method at this URL", ""},
	406: {rejected, CodeMisconfigured, owner, "The upstream has no answer in a form that this server takes", ""},
	407: {auth, CodeAuth, owner, "A proxy in front of the upstream refused this server's own credentials", fixToken},
	// By RFC 9110 the request did not arrive in full; some services send it when their own
	// work took too long (Azure Cosmos DB), so a write may have happened.
	408: {verdict{ReasonRequestTimeout, Transient, true}, CodeTimeout, operator, "The upstream gave up waiting for the request", ""},
	409: {verdict{ReasonConflict, Permanent, false}, CodeConflict, caller, "The upstream reports a conflict with its current state", "Don't retry as it is; read the current state first, it may exist already."},
	410: {verdict{ReasonNotFound, Permanent, false}, CodeNotFound, caller, "The upstream has removed this resource for good", "Don't retry with the same identifier; if it is right, tell the user that the resource is gone."},
	411: {rejected, CodeMisconfigured, owner, "The upstream wants the length of the request declared", ""},
	412: {verdict{ReasonConflict, Permanent, false}, CodeConflict, operator, "A condition for the call does not hold at the upstream", "Don't retry as it is; read the current state first, or tell the user."},
	413: {rejected, CodeRejected, caller, "The input is larger than the upstream takes", "Don't retry with the same arguments; send less."},
	414: {rejected, CodeRejected, caller, "The identifier is longer than the upstream takes", "Don't retry with the same arguments; give a shorter one."},
	415: {rejected, CodeMisconfigured, owner, "The upstream does not take the format in which this server sends", ""},
	416: {rejected, CodeFailed, operator, "The upstream refused a range, though none was asked for", ""},
	417: {rejected, CodeFailed, operator, "The upstream refused an expectation, though none was stated", ""},
	418: {auth, CodeAuth, owner, "The upstream refuses to serve this server", fixToken},
	421: {verdict{ReasonMisdirected, Transient, false}, CodeUnavailable, operator, "The request reached a machine of the upstream that does not serve it", ""},
	422: {rejected, CodeRejected, caller, "The upstream refused the input", ""},
	423: {verdict{ReasonConflict, Permanent, false}, CodeConflict, operator, "The resource is locked at the upstream, by somebody else", "Don't retry now, and don't change your arguments: tell the user, and call again when the lock is gone."},
	424: {verdict{ReasonConflict, Permanent, false}, CodeConflict, operator, "An action at the upstream that this one depends on has failed", "Don't retry as it is; complete the other action first, or tell the user."},
	425: {verdict{ReasonTooEarly, Transient, false}, CodeUnavailable, operator, "The upstream did not process the request, as it might be a replay", ""},
	426: {rejected, CodeMisconfigured, owner, "The upstream wants another protocol", ""},
	428: {rejected, CodeMisconfigured, owner, "The upstream takes conditional requests only, and this server sends none", ""},
	429: {verdict{ReasonRateLimited, Transient, false}, CodeRateLimited, operator, "The upstream limits the rate of calls", ""},
	431: {rejected, CodeMisconfigured, owner, "The headers that this server sends are larger than the upstream takes", ""},
	451: {rejected, CodeNotFound, operator, "The upstream withholds the resource for legal reasons", "Don't retry, and don't look for a way around it: tell the user."},
	500: {verdict{ReasonServerError, Unknown, true}, CodeFailed, operator, "The upstream had an internal error", ""},
	501: {unsupported, CodeMisconfigured, owner, "The upstream does not support what was asked", ""},
	502: {broken, CodeUnavailable, operator, "The upstream is unavailable: a server behind it gave no valid answer", ""},
	503: {verdict{ReasonUnavailable, Transient, false}, CodeUnavailable, operator, "The upstream is unavailable", ""},
	504: {timedOut, CodeTimeout, operator, "The upstream did not answer in time", ""},
	505: {unsupported, CodeMisconfigured, owner, "The upstream does not support this version of HTTP", ""},
	506: {unsupported, CodeFailed, operator, "The upstream is misconfigured: it negotiates with itself", ""},
	507: {unsupported, CodeFailed, operator, "The upstream has no storage left", ""},
	508: {unsupported, CodeFailed, operator, "The upstream ran into a loop", ""},
	510: {unsupported, CodeMisconfigured, owner, "The upstream wants an extension of HTTP that this server lacks", ""},
	511: {verdict{ReasonAuth, Permanent, false}, CodeMisconfigured, owner, "The network that this server is in wants a login, so the upstream was not reached", "Don't retry, and don't change your arguments: the server's owner must check its network."},

	419: {auth, CodeMisconfigured, owner, "The upstream wants the session of a web page", ""},                                                // Laravel
	420: {verdict{ReasonRateLimited, Transient, false}, CodeRateLimited, operator, "The upstream limits the rate of calls", ""},              // Twitter
	430: {auth, CodeAuth, owner, "The upstream takes this server's request for an attack", fixToken},                                         // Shopify
	440: {auth, CodeAuth, owner, "This server's session at the upstream has expired", fixToken},                                              // IIS
	444: {verdict{ReasonConnection, Transient, true}, CodeUnavailable, operator, "The upstream closed the connection without an answer", ""}, // nginx
	449: {rejected, CodeMisconfigured, owner, "The upstream wants more information with the request", ""},                                    // IIS
	450: {rejected, CodeNotFound, operator, "A filter in front of the upstream withholds the resource", "Don't retry, and don't look for a way around it: tell the user."},
	460: {timedOut, CodeTimeout, operator, "A load balancer of the upstream gave up on the call", ""},                                                                                              // AWS
	463: {rejected, CodeMisconfigured, owner, "A load balancer of the upstream finds too many proxies on the way", ""},                                                                             // AWS
	464: {rejected, CodeMisconfigured, owner, "A load balancer of the upstream wants another version of HTTP", ""},                                                                                 // AWS
	494: {rejected, CodeMisconfigured, owner, "The headers that this server sends are larger than the upstream takes", ""},                                                                         // nginx
	495: {auth, CodeAuth, owner, "The upstream refused this server's client certificate", fixToken},                                                                                                // nginx
	496: {auth, CodeAuth, owner, "The upstream wants a client certificate", fixToken},                                                                                                              // nginx
	497: {rejected, CodeMisconfigured, owner, "The upstream wants https", ""},                                                                                                                      // nginx
	498: {auth, CodeAuth, owner, "The upstream refused this server's own token", fixToken},                                                                                                         // ArcGIS
	499: {timedOut, CodeTimeout, operator, "A proxy of the upstream gave up on the call", ""},                                                                                                      // nginx
	509: {verdict{ReasonRateLimited, Permanent, false}, CodeRateLimited, operator, "The upstream has used up its bandwidth", "Don't retry today, and don't change your arguments: tell the user."}, // cPanel
	520: {broken, CodeUnavailable, operator, "The upstream's own server gave an answer that its proxy could not read", ""},                                                                         // Cloudflare, to 527
	521: {notReached, CodeUnavailable, operator, "The upstream's own server is down", ""},
	522: {timedOut, CodeTimeout, operator, "The upstream's own server did not answer its proxy in time", ""},
	523: {notReached, CodeUnavailable, operator, "The upstream's own server can't be reached by its proxy", ""},
	524: {timedOut, CodeTimeout, operator, "The upstream's own server did not answer its proxy in time", ""},
	525: {notReached, CodeUnavailable, operator, "The upstream's own server and its proxy found no TLS connection", ""},
	526: {verdict{ReasonStatus, Permanent, false}, CodeFailed, operator, "The upstream's own server has an invalid certificate", ""},
	527: {broken, CodeUnavailable, operator, "The connection between the upstream's own server and its proxy was interrupted", ""},
	529: {notReached, CodeUnavailable, operator, "The upstream is overloaded", ""},                               // Qualys, Anthropic
	530: {notReached, CodeUnavailable, operator, "The upstream's own server can't be found or is suspended", ""}, // Cloudflare, Pantheon
	540: {notReached, CodeUnavailable, operator, "The upstream is switched off for a time", ""},                  // Shopify
	561: {auth, CodeAuth, owner, "A load balancer of the upstream could not verify this server", fixToken},       // AWS
	598: {timedOut, CodeTimeout, operator, "A proxy of the upstream got no answer in time", ""},
	599: {timedOut, CodeTimeout, operator, "A proxy of the upstream got no connection in time", ""},
}
