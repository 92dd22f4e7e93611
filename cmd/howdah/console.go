package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah/internal/console"
)

// consoleLink is what the flags of "howdah console" ask for.
type consoleLink struct {
	server, token, tokenFile string
	dataDir                  string
	print                    bool
	output                   outputFormat
}

// consoleJSON is where the console is.
type consoleJSON struct {
	URL string `json:"url"` // logs in once within a minute, if there is a token
}

func newConsole() *cobra.Command {
	var c consoleLink
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Open the console of a server in the browser",
		Long: `Open the pages for people of a server in the browser.

With a token, of the server, of viewers or of sessions, the link logs in: once, and
within a minute. The token itself is not in it. The command does not ask the server,
so it works for one on another machine too:

  howdah console --server https://cache.example.com --token-file token`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			link, err := c.link(time.Now())
			if err != nil {
				return err
			}
			if !c.print && openBrowser(link) == nil {
				return c.output.print(cmd.OutOrStdout(), consoleJSON{link}, "opened "+strings.SplitN(link, "?", 2)[0]+"\n")
			}
			return c.output.print(cmd.OutOrStdout(), consoleJSON{link}, link+"\n")
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&c.server, "server", "", "URL of the server's HTTP listener, with the path if a proxy serves it below one (default: HOWDAH_HTTP_ADDR, else that of the \"howdah serve\" of --data-dir, else http://127.0.0.1:8080)")
	addDataDir(cmd, &c.dataDir)
	f.StringVar(&c.token, "token", "", "token to log in with; prefer --token-file or the environment")
	f.StringVar(&c.tokenFile, "token-file", "", "file that holds the token")
	f.BoolVar(&c.print, "print", false, "print the link, and open no browser")
	fromEnvironment(f, "token", "token-file")
	c.output.add(cmd)
	return cmd
}

// link is the address of the console, with a ticket if there is a token.
func (c *consoleLink) link(now time.Time) (string, error) {
	token, err := secret("token", c.token, c.tokenFile)
	if err != nil {
		return "", err
	}
	server := cmp.Or(c.server, os.Getenv("HOWDAH_HTTP_ADDR"), httpHere(c.dataDir), "127.0.0.1:8080")
	scheme, address, given := strings.Cut(server, "://")
	switch {
	case server == "off":
		return "", usagef("HOWDAH_HTTP_ADDR is off: give --server the URL of a server that has a console")
	case !given:
		if address, err = reachable(server); err != nil {
			return "", err
		}
		scheme = "http"
		if os.Getenv("HOWDAH_TLS_CERT") != "" {
			scheme = "https"
		}
	case scheme != "http" && scheme != "https" || address == "" || strings.ContainsAny(address, "?#@ "):
		return "", usagef("--server must be a URL such as https://cache.example.com:8080")
	}
	base := scheme + "://" + strings.TrimSuffix(address, "/")
	if token == "" {
		return base + console.Prefix, nil
	}
	return base + "/" + console.Ticket(token, now), nil
}

// openBrowser lets the system open a link. Without a desktop there is nothing to open it.
func openBrowser(link string) error {
	name, args := "xdg-open", []string{link}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", link}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return fmt.Errorf("there is no desktop")
		}
	}
	return exec.Command(name, args...).Start()
}
