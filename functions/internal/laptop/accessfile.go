package laptop

import (
	"io"
	"time"

	"sekisho/functions/internal/gateway"
)

// AccessFile is an access log in a file: the gateway's records, each with when it came in, which is
// what CloudWatch Logs keeps beside it.
type AccessFile struct {
	File io.Writer
	Now  func() time.Time
}

// Write takes one record. It is one write to the file.
func (f AccessFile) Write(record []byte) (int, error) {
	if _, err := f.File.Write(gateway.Stamped(record, f.Now())); err != nil {
		return 0, err
	}
	return len(record), nil
}
