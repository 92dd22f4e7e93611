package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/howdah/howdah/internal/embedded"
	"github.com/howdah/howdah/internal/pgurl"
	"github.com/howdah/howdah/internal/server"
)

// startScreen tells a person at a terminal what the start of "howdah serve" does, and then how to reach
// what runs. Elsewhere it writes lines of the log.
type startScreen struct {
	out    io.Writer
	log    *slog.Logger
	people *peopleLog // nil: it is no terminal, or the format of the log was chosen
	doing  string     // the last step that was shown
	open   bool       // its line has no end yet: a download
	shown  time.Time  // the last look at a download
}

// isTerminal says whether w is a terminal.
func isTerminal(w io.Writer) bool {
	file, isFile := w.(*os.File)
	return isFile && term.IsTerminal(int(file.Fd()))
}

// longStep is how often the log tells how far a download is.
const longStep = 10 * time.Second

// progress shows a step, or how far it is.
func (s *startScreen) progress(p embedded.Progress) {
	every := longStep
	if s.people != nil {
		every = progressEvery
	}
	same := p.Doing == s.doing
	if same && time.Since(s.shown) < every && p.Done < p.Total {
		return
	}
	s.doing, s.shown = p.Doing, time.Now()
	if s.people == nil {
		s.log.Info(p.String())
		return
	}
	if !same {
		s.end()
	}
	if s.open = p.Total > 0; s.open {
		fmt.Fprintf(s.out, "\r%s\x1b[K", p) // rewritten as it goes on
	} else {
		fmt.Fprintln(s.out, p)
	}
}

// end ends the line of the last step.
func (s *startScreen) end() {
	if s.open {
		fmt.Fprintln(s.out)
		s.open = false
	}
}

// ready shows what listens where, and how to reach it.
func (s *startScreen) ready(config *server.Config, at server.Addresses) {
	s.end()
	if s.people != nil {
		fmt.Fprint(s.out, readyText(config, at))
		s.people.started.Store(true)
	} else if config.DatabaseURL == "" {
		s.log.Info("the data is in "+config.DataDir, "psql", program()+" psql"+dataDirFlag(config))
	}
}

// program is what a person types for this program.
func program() string {
	if path, err := os.Executable(); err == nil && strings.Contains(path, "go-build") {
		return "go run ./cmd/howdah"
	}
	return "howdah"
}

// dataDirFlag is what other commands need to find the server.
func dataDirFlag(config *server.Config) string {
	if dir, err := embedded.DefaultDataDir(); err == nil && dir == config.DataDir {
		return ""
	}
	return " --data-dir " + config.DataDir
}

// readyText is the first screen of a server.
func readyText(config *server.Config, at server.Addresses) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nHowdah %s is ready. Ctrl-C ends it; the data stays.\n\n", config.Version)
	line := func(what, where, how string) {
		b.WriteString(strings.TrimRight(fmt.Sprintf("  %-8s %-22s %s", what, where, how), " ") + "\n")
	}
	if at.Redis != nil {
		line("Redis", at.Redis.String(), redisHint(config, at.Redis))
	}
	web := "http"
	if config.TLSCert != "" {
		web = "https"
	}
	if at.HTTP != nil {
		header := ""
		if config.Token != "" {
			header = `-H "Authorization: Bearer TOKEN" `
		}
		line("HTTP", at.HTTP.String(), fmt.Sprintf("curl %s'%s://%s/get?key=greeting'", header, web, dialable(at.HTTP)))
	}
	if at.ConsoleURL != "" {
		line("Console", at.ConsoleURL, "")
	}
	if config.DatabaseURL == "" {
		line("SQL", program()+" psql"+dataDirFlag(config), "")
		line("Data", config.DataDir, "")
	} else if to, err := pgurl.Config(config.DatabaseURL); err == nil {
		line("Data", fmt.Sprintf("database %s of PostgreSQL at %s:%d, as %s", to.Database, to.Host, to.Port, to.User), "")
	}
	b.WriteString("\n")
	return b.String()
}

// redisHint is how redis-cli reaches the server.
func redisHint(config *server.Config, at net.Addr) string {
	host, port, _ := net.SplitHostPort(dialable(at))
	hint := "redis-cli"
	if host != "127.0.0.1" {
		hint += " -h " + host
	}
	hint += " -p " + port
	if config.TLSCert != "" {
		hint += " --tls"
	}
	if config.Password != "" {
		hint += " --askpass"
	}
	hint += " SET greeting hello EX 60"
	if config.DatabaseURL == "" {
		hint += ", or: " + program() + " cli" + dataDirFlag(config)
	}
	return hint
}

// dialable is the address of a listener as clients of this machine dial it.
func dialable(at net.Addr) string {
	address, err := reachable(at.String())
	if err != nil {
		return at.String()
	}
	return address
}

// peopleLog writes a line of the log for a person: the time of day, what is worse than information,
// the message, and its attributes behind it.
type peopleLog struct {
	mu      *sync.Mutex
	out     io.Writer
	level   slog.Level
	started *atomic.Bool // before, the steps of the start are on the screen, and no information
	rest    slog.Handler // writes the attributes, to line
	line    *strings.Builder
}

func newPeopleLog(out io.Writer, level slog.Level) *peopleLog {
	line := new(strings.Builder)
	rest := slog.NewTextHandler(line, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
			return slog.Attr{}
		}
		return a
	}})
	return &peopleLog{new(sync.Mutex), out, level, new(atomic.Bool), rest, line}
}

// Enabled implements slog.Handler.
func (h *peopleLog) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.level && (level != slog.LevelInfo || h.started.Load())
}

// Handle implements slog.Handler.
func (h *peopleLog) Handle(ctx context.Context, r slog.Record) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.line.Reset()
	if err := h.rest.Handle(ctx, r); err != nil {
		return err
	}
	severity := ""
	if r.Level != slog.LevelInfo {
		severity = r.Level.String() + ": "
	}
	attributes := strings.TrimSpace(h.line.String())
	if attributes != "" {
		attributes = "  (" + attributes + ")"
	}
	_, err := fmt.Fprintf(h.out, "%s %s%s%s\n", r.Time.Format(time.TimeOnly), severity, r.Message, attributes)
	return err
}

// WithAttrs implements slog.Handler.
func (h *peopleLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	other := *h
	other.rest = h.rest.WithAttrs(attrs)
	return &other
}

// WithGroup implements slog.Handler.
func (h *peopleLog) WithGroup(name string) slog.Handler {
	other := *h
	other.rest = h.rest.WithGroup(name)
	return &other
}
