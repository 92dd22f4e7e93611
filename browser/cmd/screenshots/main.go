// Command screenshots makes the images of docs/console.md: it fills a server with the data of
// a shop, lets programs work on it, and photographs the console in a headless Chromium.
//
//	go run ./cmd/screenshots --out ../docs/img
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/howdah/howdah/browser/internal/chrome"
	"github.com/howdah/howdah/browser/internal/scene"
	"github.com/howdah/howdah/internal/embedded"
	"github.com/howdah/howdah/internal/server"
)

func main() {
	out := flag.String("out", "../docs/img", "folder for the images")
	size := flag.Int("size", 1500, "about how many entries each cache gets")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *out, *size); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run sets the scene and takes the photographs.
func run(ctx context.Context, out string, size int) (err error) {
	dir, err := os.MkdirTemp("", "howdah-screenshots-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil { // PostgreSQL, which is another user if this one is root, passes through
		return err
	}
	database, err := embedded.Start(ctx, embedded.Config{DataDir: filepath.Join(dir, "data")})
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, database.Stop(context.WithoutCancel(ctx)), embedded.Remove(context.WithoutCancel(ctx), database.DataDir()))
	}()
	shop := &scene.Shop{DatabaseURL: database.URL(), Token: "admin", SessionToken: "sessions", Password: "redis", Size: size}
	config := server.Config{DatabaseURL: shop.DatabaseURL, Migrate: true, Token: shop.Token, SessionToken: shop.SessionToken, Password: shop.Password, Version: "1.0.0"}
	config.Console.Mode, config.SlowCall = "on", 250*time.Millisecond
	config.Near.Bound = 100 * time.Millisecond
	if shop.Server, err = scene.Serve(ctx, config); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shop.Server.Stop()) }()
	if err := shop.Fill(ctx); err != nil {
		return err
	}
	end := shop.Life(ctx, 15*time.Millisecond)
	defer end()
	browser, err := chrome.Start(ctx)
	if err != nil {
		return err
	}
	defer browser.Close()
	return photograph(ctx, browser, shop, out)
}
