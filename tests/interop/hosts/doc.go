// Package hosts drives real hosts of agents against `sekisho up`: programs that stand between a
// model and this server, such as Claude Code. The model is a script, on the loopback, so what a
// host sends it can be read word by word: which tools it is offered, and what becomes of a result.
//
// The hosts come from npm, so the tests have the build tag interop; make interop runs them:
//
//	go test -tags interop ./tests/interop/hosts [-update] [-run TestHosts/codex] [-keep DIR]
package hosts
