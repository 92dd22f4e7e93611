// Package chrome drives a headless Chromium, and notes what pages do that they should not.
package chrome

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Browser is a Chromium that runs. Each Visitor has a profile of its own.
type Browser struct {
	ctx    context.Context
	cancel context.CancelFunc
}

// ErrMissing says that no Chromium is installed.
var ErrMissing = errors.New("no Chromium is found: apt-get install chromium")

// Start starts Chromium. Close ends it.
func Start(ctx context.Context) (*Browser, error) {
	path, err := find()
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium refuses its sandbox to root
	}
	allocated, cancelAllocator := chromedp.NewExecAllocator(ctx, options...)
	browser, cancelBrowser := chromedp.NewContext(allocated)
	b := &Browser{ctx: browser, cancel: func() { cancelBrowser(); cancelAllocator() }}
	if err := chromedp.Do(browser); err != nil {
		b.cancel()
		return nil, fmt.Errorf("%s does not start: %w", path, err)
	}
	return b, nil
}

func find() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrMissing
}

// Close ends Chromium.
func (b *Browser) Close() { b.cancel() }

// Visitor opens a tab with a profile of its own: without cookies, as a person who comes for
// the first time. ctx bounds its life.
func (b *Browser) Visitor(ctx context.Context) (*Tab, error) {
	return newTab(b.ctx, ctx, chromedp.WithNewBrowserContext(), chromedp.WithNewWindow(true))
}

// Beside opens a further tab of the same visitor, in front of this one.
func (t *Tab) Beside(ctx context.Context) (*Tab, error) {
	return newTab(t.ctx, ctx, chromedp.WithNewWindow(false))
}

// Front shows this tab of its window, and hides the others.
func (t *Tab) Front() error {
	id := chromedp.FromContext(t.ctx).Target.TargetID
	_, err := chromedp.CallBrowser(t.ctx, target.ActivateTarget, target.ActivateTargetParams{TargetID: id})
	return err
}
