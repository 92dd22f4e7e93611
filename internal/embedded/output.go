//go:build unix

package embedded

import (
	"bufio"
	"bytes"
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// output passes PostgreSQL's standard error to the program's log, and keeps
// its last lines for error messages.
type output struct {
	log    *slog.Logger
	reader *os.File
	writer *os.File
	done   chan struct{}

	mu   sync.Mutex
	last []string

	// Of the message that is being read.
	severity string
	level    slog.Level
}

const keptLines = 8

func newOutput(log *slog.Logger) (*output, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &output{log: log, reader: r, writer: w, done: make(chan struct{})}, nil
}

// read begins to read, until every process of the server has exited.
func (o *output) read() {
	o.writer.Close() // the children hold it now
	go func() {
		defer close(o.done)
		defer o.reader.Close()
		lines := bufio.NewReaderSize(o.reader, 16<<10)
		for {
			line, err := lines.ReadSlice('\n')
			if len(line) > 0 {
				o.add(string(bytes.TrimRight(line, "\n")))
			}
			if err != nil && err != bufio.ErrBufferFull {
				return
			}
		}
	}()
}

func (o *output) abandon() {
	o.reader.Close()
	o.writer.Close()
}

func (o *output) add(line string) {
	o.mu.Lock()
	o.last = append(o.last, line)
	if len(o.last) > keptLines {
		o.last = o.last[1:]
	}
	o.mu.Unlock()
	text := o.classify(line)
	o.log.Log(context.Background(), o.level, "postgresql: "+text, "severity", o.severity)
}

// severities begin a message; what else begins a line adds to the one before.
var severities = []string{
	"DEBUG", "DEBUG1", "DEBUG2", "DEBUG3", "DEBUG4", "DEBUG5", "INFO", "NOTICE", "LOG", "WARNING", "ERROR", "FATAL", "PANIC",
}

// additions follow a message: as telling as that, and no more.
var additions = []string{"DETAIL", "HINT", "QUERY", "CONTEXT", "STATEMENT", "LOCATION", "BACKTRACE"}

// classify notes the severity of a line, and returns its text. PostgreSQL
// begins every line of a message but the first with a tab.
func (o *output) classify(line string) (text string) {
	if rest, ok := strings.CutPrefix(line, "\t"); ok {
		return strings.TrimSpace(rest)
	}
	name, text, ok := strings.Cut(line, ":")
	text = strings.TrimSpace(text)
	switch {
	case ok && slices.Contains(additions, name):
		return strings.ToLower(name) + ": " + text
	case ok && slices.Contains(severities, name):
		o.severity, o.level = name, logLevel(name, text)
		return text
	}
	o.severity, o.level = "", slog.LevelDebug
	return strings.TrimSpace(line)
}

// logLevel of a message. FATAL ends a session and is often a client's own
// doing; PANIC ends the server. That a server which starts or stops turns
// sessions away is no news, nor that it begins before the processes of the one
// before have ended: then it is started again.
func logLevel(severity, text string) slog.Level {
	switch severity {
	case "PANIC":
		return slog.LevelError
	case "FATAL":
		for _, usual := range []string{"the database system is ", "terminating connection due to administrator command",
			"pre-existing shared memory block"} {
			if strings.HasPrefix(text, usual) {
				return slog.LevelDebug
			}
		}
		return slog.LevelWarn
	case "ERROR", "WARNING":
		return slog.LevelWarn
	default:
		return slog.LevelDebug
	}
}

// tail is the last lines in one.
func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.last, "; ")
}

// wait waits until all output is read. A killed postmaster's children may
// hold the pipe for long, hence the bound.
func (o *output) wait(bound time.Duration) {
	select {
	case <-o.done:
	case <-time.After(bound):
	}
}

// lastLines returns the last n lines of text in one.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "; ")
}
