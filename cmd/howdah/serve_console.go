package main

import (
	"github.com/spf13/pflag"
)

// addConsole adds the flags of the pages for people.
func (s *serveSettings) addConsole(f *pflag.FlagSet) {
	c := &s.config.Console
	f.StringVar(&c.Mode, "console", "auto", `pages for people at /console/ of the HTTP listener: "on", "off", or "auto": on where no token is asked for, and where there is a --console-viewer-token-file`)
	f.StringVar(&c.Addr, "console-addr", "", "address of a listener of its own for the console (default: that of --http-addr)")
	f.StringVar(&c.ViewerToken, "console-viewer-token", "", "token that opens figures and masked keys in the console, and nothing else; prefer --console-viewer-token-file or the environment")
	f.StringVar(&s.viewerTokenFile, "console-viewer-token-file", "", "file that holds the viewer token")
	f.BoolVar(&c.ReadOnly, "console-read-only", false, "refuse every change in the console, whatever the token")
	f.StringSliceVar(&c.Mask, "console-mask", nil, "text, such as invite:, before secrets in keys that the console, the slow log and MONITOR must not show; added to those that they know; may be given more than once")
	f.StringVar(&c.BasePath, "base-path", "", "path below which a proxy serves this server, such as /howdah; the cookies of the console are bound to it")
}

// completeConsole reads the viewer token.
func (s *serveSettings) completeConsole() (err error) {
	c := &s.config.Console
	c.ViewerToken, err = secret("console-viewer-token", c.ViewerToken, s.viewerTokenFile)
	return err
}
