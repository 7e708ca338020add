package postal

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"

	"sekisho/functions/internal/tools/toolerr"
)

// A cursor is the row to go on from and a checksum over the search and the data's
// header, which holds the data's own checksum: a cursor from another search, or from
// before an update of the data, is refused and not answered with the wrong page.
const cursorSize = 8

func cursorAt(rows selection, row int) string {
	var b [cursorSize]byte
	binary.BigEndian.PutUint32(b[:4], uint32(row))
	binary.BigEndian.PutUint32(b[4:], rows.sum())
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// resume gives the row where the page of this cursor begins.
func resume(cursor string, rows selection) (int, error) {
	if cursor == "" {
		return rows.from, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) != cursorSize {
		return 0, badCursor()
	}
	row := int(binary.BigEndian.Uint32(b[:4]))
	if binary.BigEndian.Uint32(b[4:]) != rows.sum() || row < rows.from || row >= rows.to {
		return 0, badCursor()
	}
	return row, nil
}

func (s selection) sum() uint32 {
	return crc32.ChecksumIEEE([]byte(embedded[:headerSize] + s.key))
}

func badCursor() error {
	return toolerr.Invalid("cursor", "The cursor is not from this search, or the data has changed since. Pass next_cursor of the page before unchanged, with the same prefix or address, or leave cursor out to start over.")
}
