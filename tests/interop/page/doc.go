// Package page drives a real Chromium through the page for key holders, over a running `sekisho
// up`: every flow, every state, in light and dark, by keyboard alone, in both languages. Each state
// is checked with axe-core and drawn to a picture.
//
// The tests need a browser and npm, so they have the build tag interop; make interop runs them:
//
//	go test -tags interop ./tests/interop/page [-pictures DIR] [-update]
package page
