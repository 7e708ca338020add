// Package version says which version of the source a binary was built from.
package version

import "runtime/debug"

// text is set by the linker; scripts/version prints the flag.
var text string

// Text is the version as git describes the commit, such as 1.2.0-3-g0123456789ab, with
// -dirty after it where files differed from the commit. Where the build did not say, it is
// the main module's version as the go command knows it, else "dev".
func Text() string {
	info, _ := debug.ReadBuildInfo()
	return choose(text, info)
}

// choose takes nil for a binary without build information.
func choose(text string, info *debug.BuildInfo) string {
	switch {
	case text != "":
		return text
	case info != nil && info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version
	}
	return "dev"
}
