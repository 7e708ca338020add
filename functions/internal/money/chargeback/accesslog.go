package chargeback

import (
	"bufio"
	"errors"
	"io"
	"time"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/usage"
)

// LogReading is what an access log says about a month.
type LogReading struct {
	Denials Denials
	// Malformed is how many lines were skipped. Torn means that the last line is incomplete,
	// as when its writer was killed.
	Malformed int64
	Torn      bool
}

// maxLine in bytes is far above a record's few hundred.
const maxLine = 64 << 10

// ReadLog reads an access log with one record per line, as `sekisho up` writes it. It keeps
// one line in memory at a time, plus one count per meter, tool and reason.
func ReadLog(r io.Reader, p usage.Period) (LogReading, error) {
	reading := LogReading{Denials: Denials{}}
	lines := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			reading.Malformed++
			if err := skipLine(lines); err != nil {
				return reading, ignoreEnd(err)
			}
		case errors.Is(err, io.EOF):
			if len(line) > 0 && !reading.add(line, p) {
				reading.Torn = true
			}
			return reading, nil
		case err != nil:
			return reading, err
		case !reading.add(line, p):
			reading.Malformed++
		}
	}
}

func skipLine(r *bufio.Reader) error {
	for {
		if _, err := r.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// add counts a line; false if it isn't a record.
func (l *LogReading) add(line []byte, p usage.Period) bool {
	record, err := gateway.ParseAccessRecord(line)
	if err != nil {
		return false
	}
	if why := record.Refusal(); why != "" && monthOf(record) == p.String() {
		l.Denials[Subject{record.Admission.Meter, record.Admission.Operation, why}]++
	}
	return true
}

// monthOf is the month that a record belongs to: the one that the gate decided for, or that of the
// record where no gate saw the call; "" if there is neither.
func monthOf(r gateway.AccessRecord) string {
	switch {
	case r.Admission.Period != "":
		return r.Admission.Period
	case r.TimestampMs == 0:
		return ""
	}
	return usage.PeriodOf(time.UnixMilli(r.TimestampMs)).String()
}
