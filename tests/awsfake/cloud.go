package awsfake

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Region and AccountID are where everything lives; the account is moto's.
const (
	Region    = "us-east-1"
	AccountID = "123456789012"
)

// startTimeout is generous: a busy machine may take long to start Python.
const startTimeout = 60 * time.Second

// Cloud is a running moto server and stand-in.
type Cloud struct {
	// Endpoint is moto's URL, such as http://127.0.0.1:40123.
	Endpoint string
	// StandIn is the URL of Budgets, Cost Explorer and Service Quotas.
	StandIn string

	moto    *exec.Cmd
	stdin   io.Closer
	standIn *httptest.Server
}

// Start runs both until Stop. The program of moto is the one that scripts/moto finds under
// root, the top of the repository.
func Start(root string) (*Cloud, error) {
	out, err := exec.Command(filepath.Join(root, "scripts", "moto"), "--find").Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("these tests need an emulator of AWS: %s", bytes.TrimSpace(exit.Stderr))
	}
	if err != nil {
		return nil, fmt.Errorf("run scripts/moto: %w", err)
	}
	c := &Cloud{moto: exec.Command(strings.TrimSpace(string(out)), "-H", "127.0.0.1", "-p", "0")}
	c.moto.Env = append(os.Environ(), "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+filepath.Join(root, "tests", "awsfake", "moto"))
	if err := c.launch(); err != nil {
		c.Stop()
		return nil, fmt.Errorf("start moto: %w", err)
	}
	c.standIn = httptest.NewServer(newStandIn(DefaultQuota))
	c.StandIn = c.standIn.URL
	return c, nil
}

func (c *Cloud) launch() (err error) {
	// moto ends when this pipe does, also when the tests are killed.
	if c.stdin, err = c.moto.StdinPipe(); err != nil {
		return err
	}
	log, err := c.moto.StderrPipe()
	if err != nil {
		return err
	}
	if err := c.moto.Start(); err != nil {
		return err
	}
	c.Endpoint, err = awaitAddress(log)
	return err
}

// Stop ends what Start started, and nothing else.
func (c *Cloud) Stop() {
	if c.standIn != nil {
		c.standIn.Close()
	}
	if c.stdin != nil {
		_ = c.stdin.Close()
	}
	if c.moto.Process != nil {
		_ = c.moto.Process.Kill()
		_ = c.moto.Wait()
	}
}

// Environment is what makes Terraform and the AWS SDK talk to this cloud and to nothing
// else: a call that slips past the endpoints meets a proxy that is not there.
func (c *Cloud) Environment() map[string]string {
	return map[string]string{
		"AWS_ENDPOINT_URL":                c.Endpoint,
		"AWS_ENDPOINT_URL_BUDGETS":        c.StandIn,
		"AWS_ENDPOINT_URL_COST_EXPLORER":  c.StandIn,
		"AWS_ENDPOINT_URL_SERVICE_QUOTAS": c.StandIn,
		"AWS_REGION":                      Region,
		"AWS_ACCESS_KEY_ID":               "test",
		"AWS_SECRET_ACCESS_KEY":           "test",
		"AWS_SESSION_TOKEN":               "",
		"AWS_PROFILE":                     "",
		"AWS_CONFIG_FILE":                 os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE":     os.DevNull,
		"AWS_EC2_METADATA_DISABLED":       "true",
		"HTTP_PROXY":                      "http://127.0.0.1:9",
		"HTTPS_PROXY":                     "http://127.0.0.1:9",
		"NO_PROXY":                        "127.0.0.1,localhost",
	}
}

// Variables is Environment as a list of NAME=value, for a process.
func (c *Cloud) Variables() []string {
	var list []string
	for name, value := range c.Environment() {
		list = append(list, name+"="+value)
	}
	return list
}

var listening = regexp.MustCompile(`Running on (http://127\.0\.0\.1:\d+)`)

// awaitAddress reads the log up to the line that names the address, and from then on
// throws it away until the process ends.
func awaitAddress(log io.Reader) (string, error) {
	type found struct {
		endpoint string
		err      error
	}
	answer := make(chan found, 1)
	go func() {
		var said bytes.Buffer
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if m := listening.FindSubmatch(lines.Bytes()); m != nil {
				answer <- found{endpoint: string(m[1])}
				_, _ = io.Copy(io.Discard, log)
				return
			}
			said.Write(append(lines.Bytes(), '\n'))
		}
		answer <- found{err: fmt.Errorf("it ended before it listened: %s", strings.TrimSpace(said.String()))}
	}()
	select {
	case f := <-answer:
		return f.endpoint, f.err
	case <-time.After(startTimeout):
		return "", fmt.Errorf("no answer in %s", startTimeout)
	}
}
