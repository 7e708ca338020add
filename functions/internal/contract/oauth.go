package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// OAuthRoute is a route of the OAuth door, an HTTP API beside the REST API.
type OAuthRoute struct {
	// Route is a method, or ANY, and a path, such as ANY /token.
	Route string `json:"-"`
	// Function serves it.
	Function string `json:"function"`
	// Own routes are there only while the authorization server is the stack's own.
	Own bool `json:"own"`
	// RatePerSecond and Burst throttle it; 0 means with the throttle of the API.
	RatePerSecond float64 `json:"rate_per_second"`
	Burst         int     `json:"burst"`
}

func (a *API) addOAuthRoutes(routes map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		route := OAuthRoute{Route: name}
		if err := decodeStrictly(routes[name], &route); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if route.Function == "" || route.RatePerSecond < 0 || (route.RatePerSecond > 0) != (route.Burst > 0) {
			return fmt.Errorf("%s: takes a function, and rate_per_second and burst above 0 or neither", name)
		}
		a.OAuthRoutes = append(a.OAuthRoutes, route)
	}
	return nil
}
