package main

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/howdah/howdah/browser/internal/chrome"
	"github.com/howdah/howdah/browser/internal/scene"
)

// photo is one image.
type photo struct {
	name          string // of the file, without what comes before and after it
	width, height int64
	scheme        string
	path          string // below the console
	press         string // selector of what is clicked on before, "" for nothing
}

var photos = []photo{
	{"overview-1200-light", 1200, 900, "light", "", ""},
	{"overview-390-dark", 390, 844, "dark", "", ""},
	{"cache-1200-dark", 1200, 900, "dark", "caches/pages", ""},
	{"entry-1200-light", 1200, 760, "light", "caches/db0/entry?key64=YmVzdHNlbGxlcnM", "form[action$='entry/value'] button"},
	{"removals-1200-light", 1200, 640, "light", "removals", ""},
	{"slow-1200-light", 1200, 420, "light", "slow", ""},
	{"doctor-390-light", 390, 844, "light", "doctor", ""},
	{"sessions-1200-dark", 1200, 760, "dark", "sessions?user=ada", ""},
}

// watched is how long somebody looks at the overview before the photographs, so that its
// curves have a past.
const watched = 40 * time.Second

// photograph logs in, watches for a while, and writes the images.
func photograph(ctx context.Context, browser *chrome.Browser, shop *scene.Shop, out string) error {
	tab, err := browser.Visitor(ctx)
	if err != nil {
		return err
	}
	defer tab.Close()
	if err := tab.Window(1200, 900, "light"); err != nil {
		return err
	}
	console := shop.Server.URL + "/console/"
	for _, token := range []string{shop.SessionToken, shop.Token} {
		if status, err := tab.Open(console + "login"); err != nil || status != 200 {
			return fmt.Errorf("the login answers %d: %w", status, err)
		}
		if err := tab.Type("#token", token); err != nil {
			return err
		}
		if _, err := tab.Follow("main form button"); err != nil {
			return err
		}
	}
	if _, err := tab.Open(console); err != nil {
		return err
	}
	select {
	case <-time.After(watched):
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := shop.Trouble(ctx); err != nil {
		return err
	}
	for _, p := range photos {
		if err := take(tab, console, p, out); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// take opens a page as somebody sees it first, and writes its image.
func take(tab *chrome.Tab, console string, p photo, out string) error {
	if err := tab.Window(p.width, p.height, p.scheme); err != nil {
		return err
	}
	if _, err := tab.Open(console + p.path); err != nil {
		return err
	}
	if p.press != "" {
		if _, err := tab.Follow(p.press); err != nil {
			return err
		}
	}
	if err := tab.Await("!document.querySelector('.waiting')"); err != nil {
		return err
	}
	shot, err := chromedp.Run(tab.Context(), chromedp.CaptureScreenshot())
	if err != nil {
		return err
	}
	picture, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		return err
	}
	path := filepath.Join(out, "console-"+p.name+".png")
	var file bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&file, paletted(picture)); err != nil {
		return err
	}
	fmt.Printf("%s: %d kB\n", path, file.Len()/1000)
	return os.WriteFile(path, file.Bytes(), 0o644)
}
