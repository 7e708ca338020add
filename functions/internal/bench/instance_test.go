package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// runnable is something that serves the Runtime API's events.
type runnable struct {
	name    string
	command []string
	env     map[string]string
	event   []byte
	// memoryMB is its share of a core while it serves events, where the CPU is limited.
	memoryMB int
}

// instance is one process of a program, and the Runtime API that it talks to
// (docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html): one event at a time.
type instance struct {
	cmd     *exec.Cmd
	stderr  bytes.Buffer
	server  *http.Server
	started chan struct{}
	begun   time.Time
	// next is when it first asked for an event.
	next     time.Time
	first    sync.Once
	throttle func(pid int) error
	events   chan []byte
	answers  chan answered
	// ended is closed when the process has ended, whoever ended it.
	ended chan struct{}
}

type answered struct {
	at   time.Time
	path string
	body []byte
	err  error
}

// answerTime is long: a throttled process on a busy machine is slow, and a hang must end.
const answerTime = time.Minute

// start starts a process. throttle is called with its ID when it first asks for an event: starting up is
// not throttled in Lambda.
func (p runnable) start(throttle func(pid int) error) (*instance, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	i := &instance{started: make(chan struct{}), throttle: throttle, events: make(chan []byte, 1), answers: make(chan answered, 1), ended: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", i.serveNext)
	mux.HandleFunc("POST /2018-06-01/runtime/", i.serveAnswer)
	i.server = &http.Server{Handler: mux}
	go i.server.Serve(listener)
	i.cmd = exec.Command(p.command[0], p.command[1:]...)
	i.cmd.Env = append(pairs(p.env), "PATH="+os.Getenv("PATH"), "AWS_LAMBDA_RUNTIME_API="+listener.Addr().String())
	i.cmd.Stderr = &i.stderr
	i.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	i.begun = time.Now()
	if err := i.cmd.Start(); err != nil {
		i.server.Close()
		return nil, err
	}
	close(i.started)
	go func() {
		_ = i.cmd.Wait() // how it ended is in its state
		close(i.ended)
	}()
	return i, nil
}

func (i *instance) serveNext(w http.ResponseWriter, q *http.Request) {
	i.first.Do(func() {
		i.next = time.Now()
		<-i.started
		if i.throttle == nil {
			return
		}
		if err := i.throttle(i.cmd.Process.Pid); err != nil {
			i.answers <- answered{err: err}
		}
	})
	select {
	case event := <-i.events:
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(20*time.Second).UnixMilli(), 10))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:bench")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(event)
	case <-i.ended:
	case <-q.Context().Done():
	}
}

func (i *instance) serveAnswer(w http.ResponseWriter, q *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(q.Body)
	w.WriteHeader(http.StatusAccepted)
	i.answers <- answered{at: at, path: q.URL.Path, body: body, err: err}
}

// invoke has it serve one event.
func (i *instance) invoke(ctx context.Context, event []byte) (answered, error) {
	i.events <- event
	select {
	case a := <-i.answers:
		switch {
		case a.err != nil:
			return a, a.err
		case !strings.HasSuffix(a.path, "/response"):
			return a, fmt.Errorf("%s: %.300s", a.path, a.body)
		}
		return a, nil
	case <-i.ended:
		return answered{}, fmt.Errorf("the process ended: %s", i.cmd.ProcessState)
	case <-time.After(answerTime):
		return answered{}, errors.New("no answer")
	case <-ctx.Done():
		return answered{}, ctx.Err()
	}
}

// stop ends the process and returns what it took of the CPU.
func (i *instance) stop() time.Duration {
	_ = i.cmd.Process.Kill()
	<-i.ended
	i.server.Close()
	return i.cmd.ProcessState.UserTime() + i.cmd.ProcessState.SystemTime()
}

// said is what went wrong, with what the process wrote.
func (i *instance) said(err error) error {
	return fmt.Errorf("%w; it wrote: %.500s", err, i.stderr.String())
}

// processUsage is the CPU time of a running process, the memory that it has, and the most that it had.
func processUsage(pid int) (cpu time.Duration, residentMB, peakMB float64, err error) {
	proc := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(proc + "stat")
	if err != nil {
		return 0, 0, 0, err
	}
	// The second field is the name, in brackets; utime and stime are the 14th and 15th, in ticks of 10 ms.
	var user, system int
	for i, field := range strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) {
		switch i {
		case 11:
			user, err = strconv.Atoi(field)
		case 12:
			system, err = strconv.Atoi(field)
		}
		if err != nil {
			return 0, 0, 0, err
		}
	}
	status, err := os.ReadFile(proc + "status")
	if err != nil {
		return 0, 0, 0, err
	}
	megabytes := func(name string) float64 {
		_, after, _ := strings.Cut(string(status), "\n"+name+":")
		kilobytes, _, _ := strings.Cut(strings.TrimSpace(after), " ")
		n, parseErr := strconv.ParseFloat(kilobytes, 64)
		err = errors.Join(err, parseErr)
		return n / 1000
	}
	residentMB, peakMB = megabytes("VmRSS"), megabytes("VmHWM")
	return time.Duration(user+system) * 10 * time.Millisecond, residentMB, peakMB, err
}
