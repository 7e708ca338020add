// Package chromium starts the browser of the tests under tests/interop.
package chromium

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/chromedp/chromedp"

	"sekisho/tests/repository"
)

// Start starts the browser that scripts/browser finds, with its profile in dir. It calls nobody by
// itself. Each tab is a child of the context that it returns.
func Start(dir string) (browser context.Context, stop func(), err error) {
	path, err := repository.Script("browser")
	if err != nil {
		return nil, nil, err
	}
	allocator, end := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("user-data-dir", filepath.Join(dir, "browser")),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		// Tabs in the background run as the one in front does: they are used side by side.
		chromedp.Flag("disable-background-timer-throttling", true), chromedp.Flag("disable-backgrounding-occluded-windows", true),
		chromedp.Flag("disable-renderer-backgrounding", true), chromedp.Flag("hide-scrollbars", true),
	)
	browser, cancel := chromedp.NewContext(allocator)
	stop = func() { cancel(); end() }
	if err := chromedp.Do(browser, chromedp.Navigate("about:blank")); err != nil {
		stop()
		return nil, nil, fmt.Errorf("start %s: %w", path, err)
	}
	return browser, stop, nil
}
