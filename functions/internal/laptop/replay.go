package laptop

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sekisho/functions/internal/gateway"
	"sekisho/functions/internal/usage"
)

// A service that is killed loses the failed calls that it had not settled yet, but not their
// records: those are in the access log before the caller has the answer. So each start settles
// the records of failed calls again. What was given back before stays as it is, because
// a refund is applied once per admission ID; its mark outlives the month after the call's,
// and older records are passed over.
//
// A call of the REST API that was running when the service was killed has no record. It stays
// charged, and its caller has no answer. A call that mcp dispatched itself has one from before it
// ran; if nothing says that mcp answered, it is given back.

// replayBatch is the most records that are queued at once.
const replayBatch = 10_000

// Replay settles the failed calls in a log at path: the access log, or the one of calls that mcp
// dispatched itself, which nobody may be writing. position is a file that
// remembers how far the log is settled, so that it is not read from its start each time;
// without the file, or when the log is not the one it was written for, all is read.
func (s *Service) Replay(ctx context.Context, path, position string) error {
	log, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	from := readMark(position).in(log)
	if _, err := log.Seek(from, io.SeekStart); err != nil {
		return err
	}
	read, err := s.replay(ctx, log)
	if err != nil {
		return fmt.Errorf("settle the failed calls in %s: %w", path, err)
	}
	return newMark(log, from+read).write(position)
}

// replay returns how many bytes of whole lines it has settled.
func (s *Service) replay(ctx context.Context, log io.Reader) (read int64, err error) {
	found := unsettled{owes: s.owes, open: map[string][]gateway.AccessRecord{}}
	queued := 0
	settle := func(records []gateway.AccessRecord) error {
		for _, record := range records {
			text, err := json.Marshal(record)
			if err != nil {
				return err
			}
			s.subscription.Add(s.now(), string(text))
			if queued++; queued%replayBatch == 0 {
				if err := s.subscription.Flush(ctx); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for lines := bufio.NewReader(log); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // a line that is cut short has no end yet
			return read, errors.Join(settle(found.rest()), s.subscription.Flush(ctx))
		}
		if err != nil {
			return read, err
		}
		read += int64(len(line))
		if err := settle(found.add(line)); err != nil {
			return read, err
		}
	}
}

// owes says whether a record may have units to give back: those of this month, or of the
// month before, whose last calls may have failed after it had turned.
func (s *Service) owes(record gateway.AccessRecord) bool {
	refund, due, err := record.Refund(s.api.CodeOf)
	if err != nil || !due {
		return false
	}
	month := usage.PeriodOf(s.now())
	return refund.Period == month || refund.Period == month.Before(1)
}

// mark is a place in a log. Before is the hash of what stands before it, so that the place is
// not taken for one in another file of the same name.
type mark struct {
	Offset int64  `json:"offset"`
	Before string `json:"before"`
}

// markedBytes are hashed, or less at the start of a file.
const markedBytes = 4096

func newMark(log io.ReaderAt, offset int64) mark {
	before := make([]byte, min(offset, markedBytes))
	if _, err := log.ReadAt(before, offset-int64(len(before))); err != nil {
		return mark{}
	}
	sum := sha256.Sum256(before)
	return mark{offset, hex.EncodeToString(sum[:])}
}

// readMark returns the zero mark where none can be read.
func readMark(path string) (m mark) {
	raw, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(raw, &m) != nil || m.Offset < 0 {
		return mark{}
	}
	return m
}

// in is the mark's offset in a log, 0 if the mark is not of this log.
func (m mark) in(log io.ReaderAt) int64 {
	if newMark(log, m.Offset) != m {
		return 0
	}
	return m.Offset
}

// write replaces the file at once, so that nobody reads half of it.
func (m mark) write(path string) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return replaceFile(path, append(raw, '\n'))
}

// replaceFile replaces a file of the owner's at once, whatever its mode was before.
func replaceFile(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // of mode 0600
	if err != nil {
		return err
	}
	_, written := f.Write(content)
	if err := errors.Join(written, f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
}
