package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/howdah/howdah"
)

// progressEvery is how often a terminal is told how far a transfer is.
const progressEvery = 200 * time.Millisecond

// progressLine shows one line that is overwritten, on a terminal, and a line from time to time
// elsewhere.
type progressLine struct {
	out      io.Writer
	terminal bool
	open     bool // a line is there that is to be overwritten
	shown    time.Time
}

func newProgressLine(out io.Writer) *progressLine {
	file, isFile := out.(*os.File)
	return &progressLine{out: out, terminal: isFile && term.IsTerminal(int(file.Fd())), shown: time.Now()}
}

// show replaces the line.
func (p *progressLine) show(text string) {
	every := 10 * time.Second
	if p.terminal {
		every = progressEvery
	}
	if time.Since(p.shown) < every {
		return
	}
	p.shown = time.Now()
	if !p.terminal {
		fmt.Fprintln(p.out, text)
		return
	}
	fmt.Fprintf(p.out, "\r%s\x1b[K", text)
	p.open = true
}

// clear makes room for what is printed next.
func (p *progressLine) clear() {
	if p.open {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.open = false
	}
}

// untilStopped returns a context that the first signal ends; Ctrl-C pressed again ends the program.
func untilStopped(cmd *cobra.Command) (context.Context, func()) {
	return untilSignal(cmd.Context(), slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)))
}

// transferTimeout bounds a statement of a transfer, which has many rows.
const transferTimeout = time.Minute

// openForTransfer opens the database of a transfer.
func openForTransfer(ctx context.Context, flags *databaseFlags, maxValue int) (*howdah.DB, error) {
	url, err := flags.find()
	if err != nil {
		return nil, err
	}
	return howdah.Open(ctx, url, &howdah.Options{MaxConns: 4, Timeout: transferTimeout, MaxValueBytes: maxValue})
}
