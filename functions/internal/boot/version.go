package boot

import "runtime/debug"

// version is set by the linker; scripts/version prints the flag.
var version string

// Version is the version as git describes the commit, such as 1.2.0-3-g0123456789ab, with
// -dirty after it where files differed from the commit. Where the build did not say, it is
// the main module's version as the go command knows it, else "dev".
func Version() string {
	info, _ := debug.ReadBuildInfo()
	return choose(version, info)
}

// choose takes nil for a binary without build information.
func choose(linked string, info *debug.BuildInfo) string {
	switch {
	case linked != "":
		return linked
	case info != nil && info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version
	}
	return "dev"
}
