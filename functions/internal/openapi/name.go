package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"

	"sekisho/functions/internal/contract"
)

const (
	mostName     = contract.MaxToolName
	mostCategory = 20
	mostArgument = 64
)

// argumentName is one that every strict mode takes.
var argumentName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,63}$`)

// snake writes a name in lower case with underscores: listHTTPRoutes is list_http_routes.
func snake(s string) string {
	var out strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			out.WriteByte('_')
			continue
		}
		if i > 0 && unicode.IsUpper(r) {
			before := runes[i-1]
			startsWord := i+1 < len(runes) && unicode.IsLower(runes[i+1]) && unicode.IsUpper(before)
			if unicode.IsLower(before) || unicode.IsDigit(before) || startsWord {
				out.WriteByte('_')
			}
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return strings.Join(strings.FieldsFunc(out.String(), func(r rune) bool { return r == '_' }), "_")
}

// shorten cuts a name, between words if it can.
func shorten(name string, most int) string {
	if len(name) <= most {
		return name
	}
	name = name[:most]
	if last := strings.LastIndexByte(name, '_'); last > most/2 {
		name = name[:last]
	}
	return strings.Trim(name, "_")
}

// mark distinguishes what would have the same name. It depends on nothing but the key, so
// that it is the same whatever else is in the description.
func mark(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])[:6]
}

// version is a path's segment that says nothing about what the path is for.
var version = regexp.MustCompile(`^(v?\d+(_\d+)*|api|rest|beta|alpha|v\d+(alpha|beta)\d*)$`)

// categoryOf is the first tag, or the first segment of the path that says something.
func categoryOf(op *operation, reserved map[string]bool) string {
	candidates := []string{""}
	if len(op.tags) > 0 {
		candidates[0] = snake(op.tags[0])
	}
	for segment := range strings.SplitSeq(op.path, "/") {
		if name := snake(segment); !strings.ContainsAny(segment, "{}=#?(") && !version.MatchString(name) {
			candidates = append(candidates, name)
		}
	}
	category := "api"
	for _, c := range candidates {
		if c != "" {
			category = c
			break
		}
	}
	if category[0] >= '0' && category[0] <= '9' {
		category = "api_" + category
	}
	category = shorten(category, mostCategory)
	if reserved[category] {
		category = shorten(category, mostCategory-4) + "_api"
	}
	return category
}

// nameOf is an operation's name within its category, and whether it had to be cut.
func nameOf(op *operation, category string) (name string, marked bool) {
	name = snake(op.id)
	if name == "" {
		name = snake(strings.ToLower(op.method) + "_" + strings.NewReplacer("{", "by_", "}", "").Replace(op.path))
	}
	for _, prefix := range []string{category, strings.TrimSuffix(category, "s")} {
		if rest, ok := strings.CutPrefix(name, prefix+"_"); ok && prefix != "" {
			name = rest
			break
		}
	}
	room := mostName - len(category) - 1
	if len(name) > room {
		return shorten(name, room-7) + "_" + mark(op.key), true
	}
	return name, false
}

// withMark gives a name that is taken its mark.
func withMark(name, category, key string) string {
	return shorten(name, mostName-len(category)-1-7) + "_" + mark(key)
}

// backendName is one that Terraform and Lambda take.
func backendName(s string, reserved map[string]bool) string {
	name := shorten(snake(s), 20)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = strings.Trim("api_"+name, "_")
	}
	if reserved[name] {
		name += "_api"
	}
	return name
}
