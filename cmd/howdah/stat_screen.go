package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// The terminal's orders: another screen without a cursor, and back.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	homeCursor  = "\x1b[H"
	endOfLine   = "\x1b[K\r\n"
	restOfPage  = "\x1b[J"
)

// showLive shows a source in a terminal until q, Ctrl-C or a signal, and leaves
// the terminal as it was.
func showLive(ctx context.Context, out *os.File, in io.Reader, from source, interval time.Duration) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	keys := make(chan byte, 16)
	if file, ok := in.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		// Single keys, and none of them shown. Ctrl-C comes as a key too.
		state, err := term.MakeRaw(int(file.Fd()))
		if err != nil {
			return err
		}
		defer term.Restore(int(file.Fd()), state) //nolint:errcheck // there is nothing to do about it
		go readKeys(file, stop, keys)
	}
	resized := make(chan os.Signal, 1)
	defer notifyResize(resized)()
	fmt.Fprint(out, enterScreen)
	defer fmt.Fprint(out, leaveScreen)

	shown := &screen{out: out, interval: interval}
	handler, _ := from.(keyHandler)
	if handler != nil {
		shown.hint = handler.hint
	}
	shown.draw()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		now, err := readBounded(ctx, from)
		if ctx.Err() != nil {
			return nil
		}
		shown.update(now, err)
		for wait := true; wait; {
			shown.draw()
			select {
			case <-ctx.Done():
				return nil
			case <-resized:
			case key := <-keys:
				if handler != nil {
					handler.handleKey(key)
				}
			case <-tick.C:
				wait = false
			}
		}
	}
}

// keyHandler is a source whose figures are shown as keys say.
type keyHandler interface {
	// hint says in a few words which keys there are.
	hint() string
	// handleKey changes what Text of the latest figures returns.
	handleKey(byte)
}

// readKeys reads keys until one that ends. The others are sent on; those that come faster
// than they are handled are lost.
func readKeys(in io.Reader, stop func(), keys chan<- byte) {
	key := make([]byte, 1)
	for {
		if _, err := in.Read(key); err != nil {
			return
		}
		switch key[0] {
		case 'q', 'Q', 3: // 3 is Ctrl-C
			stop()
			return
		}
		select {
		case keys <- key[0]:
		default:
		}
	}
}

// screen is what a terminal shows.
type screen struct {
	out      *os.File
	interval time.Duration
	hint     func() string // of keys; nil: there are none
	latest   figures       // nil: none yet
	reads    int
	err      error // of the last look; what was seen before it stays on show
}

func (s *screen) update(now figures, err error) {
	s.err = err
	if err == nil {
		s.latest = now
		s.reads++
	}
}

func (s *screen) draw() {
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	status := fmt.Sprintf("every %v; q quits", s.interval)
	if s.hint != nil {
		status += "; " + s.hint()
	}
	switch {
	case s.err != nil:
		status = "TRYING AGAIN: " + oneLine(s.err)
	case s.reads < 2:
		status += "; rates come with the next look"
	}
	if runes := []rune(status); len(runes) > width {
		status = string(runes[:width])
	}
	text := status + "\n"
	if s.latest != nil {
		// The last line stays empty: a newline there would scroll.
		text += s.latest.Text(width, height-2)
	}
	_, _ = io.WriteString(s.out, homeCursor+strings.ReplaceAll(text, "\n", endOfLine)+restOfPage)
}
