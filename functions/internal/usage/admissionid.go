package usage

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"strings"
	"time"
)

// AdmissionIDPrefix starts every admission ID.
const AdmissionIDPrefix = "adm_"

// base32hex sorts like the bytes it encodes (RFC 4648, section 7).
var idEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

const idBytes = 12

// NewAdmissionID makes an ID of 24 characters: the current millisecond and 48 random bits.
// IDs sort by their millisecond, so that a store can tell an older admission from a newer one.
func NewAdmissionID(now time.Time) string {
	b := stamp(now)
	_, _ = rand.Read(b[6:]) // crypto/rand never fails
	return AdmissionIDPrefix + idEncoding.EncodeToString(b[:])
}

// AdmissionFloor is the smallest ID that can be made at or after t.
func AdmissionFloor(t time.Time) string {
	b := stamp(t)
	return AdmissionIDPrefix + idEncoding.EncodeToString(b[:])
}

// stamp puts t into the first 48 bits, in milliseconds.
func stamp(t time.Time) (b [idBytes]byte) {
	binary.BigEndian.PutUint64(b[:8], uint64(t.UnixMilli())<<16)
	return b
}

// AdmissionTime is the millisecond in which an ID was made; ok is false if the text isn't
// an admission ID.
func AdmissionTime(id string) (at time.Time, ok bool) {
	text, found := strings.CutPrefix(id, AdmissionIDPrefix)
	if !found || len(text) != idEncoding.EncodedLen(idBytes) {
		return time.Time{}, false
	}
	b, err := idEncoding.DecodeString(text)
	if err != nil || len(b) != idBytes { // decoding passes over line breaks
		return time.Time{}, false
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(b) >> 16)), true
}
