package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Lambda gives a function CPU by its memory: 1,769 MB are one core
// (docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html). period is how often the share is handed out.
const (
	fullCoreMB = 1769
	period     = 20 * time.Millisecond
)

// quota limits processes to a share of a core, by a control group of Linux.
type quota struct{ dir string }

// newQuota makes the group. It takes root, and a cgroup controller for the CPU that is not used up by
// whatever runs this.
func newQuota(name string, memoryMB int) (*quota, error) {
	micros := period.Microseconds() * int64(memoryMB) / fullCoreMB
	var failed []error
	for parent, files := range map[string]map[string]string{
		"/sys/fs/cgroup/cpu": {"cpu.cfs_period_us": strconv.FormatInt(period.Microseconds(), 10), "cpu.cfs_quota_us": strconv.FormatInt(micros, 10)},
		"/sys/fs/cgroup":     {"cpu.max": fmt.Sprintf("%d %d", micros, period.Microseconds())},
	} {
		q := &quota{filepath.Join(parent, fmt.Sprintf("sekisho-bench-%d-%s", os.Getpid(), name))}
		err := q.make(files)
		if err == nil {
			return q, nil
		}
		q.remove()
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

func (q *quota) make(files map[string]string) error {
	if err := os.Mkdir(q.dir, 0o755); err != nil {
		return err
	}
	for name, value := range files {
		file := filepath.Join(q.dir, name)
		if _, err := os.Stat(file); err != nil {
			return err // a plain directory, of no controller
		}
		if err := os.WriteFile(file, []byte(value), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// add limits a process, and what it starts.
func (q *quota) add(pid int) error {
	return os.WriteFile(filepath.Join(q.dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
}

// tryQuota says why this machine can't limit a process, if it can't.
func tryQuota() error {
	q, err := newQuota("probe", 128)
	if err != nil {
		return err
	}
	defer q.remove()
	sleeper := exec.Command("sleep", "10")
	if err := sleeper.Start(); err != nil {
		return err
	}
	err = q.add(sleeper.Process.Pid)
	_ = sleeper.Process.Kill()
	_ = sleeper.Wait()
	return err
}

// remove is possible when all its processes have ended.
func (q *quota) remove() {
	for range 50 {
		if err := os.Remove(q.dir); err == nil || os.IsNotExist(err) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// oneLine is an error without line breaks, for a table.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
