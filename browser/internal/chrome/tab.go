package chrome

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience bounds how long a page may take for what a test awaits.
const patience = 20 * time.Second

// Tab is one tab. Its methods are for one goroutine.
type Tab struct {
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex
	faults   []string
	requests []string
}

func newTab(parent, life context.Context, options ...chromedp.ContextOption) (*Tab, error) {
	t := &Tab{}
	t.ctx, t.cancel = chromedp.NewContext(parent, append(options, chromedp.WithListener(t.note))...)
	context.AfterFunc(life, t.cancel)
	if err := chromedp.Do(t.ctx); err != nil {
		t.cancel()
		return nil, err
	}
	_, err := chromedp.Call(t.ctx, log.Enable, cdp.Empty{})
	return t, err
}

// Close closes the tab.
func (t *Tab) Close() { t.cancel() }

// note keeps what a page should not do, and what it asks for.
func (t *Tab) note(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		t.fault("exception: %s %s", e.ExceptionDetails.Text, describe(e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		t.fault("console.%s", e.Type)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelVerbose {
			return // advice to authors
		}
		t.fault("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *page.EventJavascriptDialogOpening:
		t.fault("dialog: %s", e.Message)
		go t.dismiss()
	case *network.EventRequestWillBeSent:
		t.mu.Lock()
		t.requests = append(t.requests, e.Request.URL)
		t.mu.Unlock()
	}
}

func describe(o *runtime.RemoteObject) string {
	if o == nil {
		return ""
	}
	return o.Description
}

func (t *Tab) fault(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = append(t.faults, fmt.Sprintf(format, args...))
}

// dismiss closes a dialog, which otherwise stops the page.
func (t *Tab) dismiss() {
	_, _ = chromedp.Call(t.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
}

// Faults returns the errors, warnings, messages, dialogs and exceptions of the pages since the last
// call, and the requests to hosts other than those of the given URLs.
func (t *Tab) Faults(origins ...string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	faults := t.faults
	for _, request := range t.requests {
		if u, err := url.Parse(request); err == nil && u.Scheme != "data" && !within(request, origins) {
			faults = append(faults, "request to "+request)
		}
	}
	t.faults, t.requests = nil, nil
	return faults
}

func within(request string, origins []string) bool {
	for _, origin := range origins {
		if strings.HasPrefix(request, strings.TrimSuffix(origin, "/")+"/") {
			return true
		}
	}
	return false
}

// Do runs actions of chromedp within the patience of tests.
func (t *Tab) Do(steps ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	return chromedp.Do(ctx, steps...)
}

// Open loads a page and returns its status.
func (t *Tab) Open(address string) (status int, err error) {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	response, err := chromedp.RunResponse(ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.Navigate, page.NavigateParams{URL: address})
		return err
	}))
	return statusOf(response), explain(address, err)
}

func explain(where string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", where, err)
	}
	return err
}

// Follow clicks on what a selector finds, and waits for the page that this loads.
func (t *Tab) Follow(selector string) (status int, err error) {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	response, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS(selector), chromedp.NodeReady))
	return statusOf(response), explain(selector, err)
}

func statusOf(response *network.Response) int {
	if response == nil {
		return 0
	}
	return int(response.Status)
}

// Eval evaluates JavaScript in the page and decodes its JSON value into result.
func (t *Tab) Eval(expression string, result any) error {
	ctx, cancel := context.WithTimeout(t.ctx, patience)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string]("(async () => JSON.stringify(await ("+expression+"\n)) ?? 'null')()", chromedp.EvalAwaitPromise))
	if err != nil {
		return fmt.Errorf("%s: %w", expression, err)
	}
	return json.Unmarshal([]byte(text), result)
}

// Await waits until an expression is true.
func (t *Tab) Await(expression string) error { return t.AwaitFor(patience, expression) }

// AwaitFor is Await for so long.
func (t *Tab) AwaitFor(patience time.Duration, expression string) error {
	deadline := time.Now().Add(patience)
	for {
		var holds bool
		err := t.Eval("!!("+expression+")", &holds)
		switch {
		case err == nil && holds:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("it did not become true within %v: %s (%v)", patience, expression, err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.ctx.Done():
			return t.ctx.Err()
		}
	}
}

// Window gives the page a width and height in CSS pixels, and a scheme of colours, "light" or
// "dark". Nothing moves, so that colours are those of rest.
func (t *Tab) Window(width, height int64, scheme string) error {
	if _, err := chromedp.Call(t.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 600,
	}); err != nil {
		return err
	}
	_, err := chromedp.Call(t.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	return err
}

// WithoutScripts turns JavaScript off.
func (t *Tab) WithoutScripts() error {
	_, err := chromedp.Call(t.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	return err
}

// Keys presses keys, one after another, where the focus is. A page that handles a key keeps it
// from being typed, which KeyEvent of chromedp does not let it.
func (t *Tab) Keys(keys string) error {
	for _, key := range keys {
		events := kb.Encode(key)
		down, up := events[0], events[len(events)-1]
		if len(events) == 3 {
			down.Text = events[1].Text
		}
		for _, event := range []*input.DispatchKeyEventParams{down, up} {
			if _, err := chromedp.Call(t.ctx, input.DispatchKeyEvent, *event); err != nil {
				return err
			}
		}
	}
	return nil
}

// Type puts the focus on what a selector finds and types a text.
func (t *Tab) Type(selector, text string) error {
	return explain(selector, t.Do(chromedp.SendKeys(chromedp.CSS(selector), text)))
}

// Click clicks on what a selector finds, and waits for nothing.
func (t *Tab) Click(selector string) error {
	return explain(selector, t.Do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeReady)))
}

// Cookies are those that the page's address is sent.
func (t *Tab) Cookies() ([]*network.Cookie, error) {
	found, err := chromedp.Call(t.ctx, network.GetCookies, network.GetCookiesParams{})
	return found.Cookies, err
}

// Context is that of chromedp, for what this package has no method for.
func (t *Tab) Context() context.Context { return t.ctx }
