//go:build interop

package clients

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// patience is how long a person waits for a page.
const patience = 20 * time.Second

// person has a key, and a browser in which programs open addresses.
type person struct {
	key string
	// program opens an address, as the environment's BROWSER does.
	program string

	mu sync.Mutex
	// asked are the names that programs gave themselves on the page that asks for the key.
	asked []string
}

// newPerson looks at whatever is opened until the test ends, and signs in.
func newPerson(t *testing.T, key string) *person {
	t.Helper()
	p := &person{key: key, program: filepath.Join(t.TempDir(), "browser")}
	pipe := p.program + ".opens"
	if err := os.WriteFile(p.program, []byte("#!/bin/sh\nprintf '%s\\n' \"$1\" >'"+pipe+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	opened, err := os.OpenFile(pipe, os.O_RDWR, 0) // to write as well: no writer has to wait, and none is the last
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { opened.Close(); <-done })
	go func() {
		defer close(done)
		for addresses := bufio.NewScanner(opened); addresses.Scan(); {
			if err := p.signIn(addresses.Text()); err != nil {
				t.Errorf("signing in at %s: %v", addresses.Text(), err)
			}
		}
	}()
	return p
}

// signIn reads who asks, types the key and allows it, and is sent back to the program.
func (p *person) signIn(address string) error {
	tab, end := chromedp.NewContext(shared.browser, chromedp.WithNewBrowserContext())
	defer end()
	tab, cancel := context.WithTimeout(tab, patience)
	defer cancel()
	if err := chromedp.Do(tab, chromedp.Navigate(address)); err != nil {
		return err
	}
	type page struct{ Origin, Asks, Text string }
	see := func() (page, error) {
		return chromedp.Run(tab, chromedp.Evaluate[page](`(document.querySelector("#key")?.focus(), {
			origin: location.origin, asks: document.querySelector("#calls")?.innerText ?? "", text: document.body?.innerText ?? "" })`))
	}
	door, err := see()
	if err != nil || door.Asks == "" {
		return fmt.Errorf("nobody asks for a key: %q, %v", door.Text, err)
	}
	p.mu.Lock()
	p.asked = append(p.asked, door.Asks)
	p.mu.Unlock()
	if _, err := chromedp.Call(tab, input.InsertText, input.InsertTextParams{Text: p.key}); err != nil {
		return err
	}
	if err := chromedp.Do(tab, chromedp.KeyEvent("\r")); err != nil {
		return err
	}
	for {
		now, err := see() // while the page changes there is none
		if err == nil && strings.HasPrefix(now.Origin, "http") && now.Origin != door.Origin && now.Text != "" {
			break
		}
		if tab.Err() != nil {
			return fmt.Errorf("not sent back: %q, %v", now.Text, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

// signIns are the names of the programs that have asked for the key so far, in order.
func (p *person) signIns() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}
