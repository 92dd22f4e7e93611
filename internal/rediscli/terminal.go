package rediscli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/howdah/howdah/internal/resp"
)

// Terminal is the terminal of a session.
type Terminal struct {
	In, Out *os.File
	History *History

	// Interrupts returns a channel that receives when Ctrl-C is pressed while a command
	// runs, until stop is called.
	Interrupts func() (pressed <-chan os.Signal, stop func())
}

// prompter is a session in a terminal.
type prompter struct {
	*Session
	t      Terminal
	editor *term.Terminal
	table  Table // nil: not loaded yet

	interrupts <-chan os.Signal
}

// Interact reads command lines from a terminal until exit, Ctrl-D, Ctrl-C on a
// prompt, or the end of ctx. A connection that is lost is made again for the
// next command. It leaves the terminal as it was.
func (s *Session) Interact(ctx context.Context, t Terminal) error {
	// For all lines: Ctrl-C may come when a command has just ended, or has not begun.
	interrupts, stop := t.Interrupts()
	defer stop()
	p := &prompter{Session: s, t: t, interrupts: interrupts}
	p.editor = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{t.In, t.Out}, "")
	p.editor.History = t.History
	p.editor.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		return p.complete(ctx, line, pos)
	}
	if err := s.Client.Connect(ctx); err != nil {
		fmt.Fprintln(s.Err, oneLine(err))
	}
	for {
		line, err := p.read(ctx)
		switch {
		case errors.Is(err, io.EOF) || ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("cannot read from the terminal: %w", err)
		}
		if p.run(ctx, line) {
			return nil
		}
	}
}

// read reads one line while the terminal gives single keys.
func (p *prompter) read(ctx context.Context) (string, error) {
	before, err := term.MakeRaw(int(p.t.In.Fd()))
	if err != nil {
		return "", err
	}
	defer term.Restore(int(p.t.In.Fd()), before) //nolint:errcheck // there is nothing to do about it
	if width, height, err := term.GetSize(int(p.t.Out.Fd())); err == nil && width > 0 && height > 0 {
		_ = p.editor.SetSize(width, height)
	}
	p.editor.SetPrompt(p.prompt())
	type result struct {
		line string
		err  error
	}
	read := make(chan result, 1)
	go func() { // a read from a terminal cannot be interrupted
		line, err := p.editor.ReadLine()
		read <- result{line, err}
	}()
	select {
	case r := <-read:
		return r.line, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (p *prompter) prompt() string {
	if !p.Client.Connected() {
		return "not connected> "
	}
	text := p.Client.Address()
	if n := p.Client.Database(); n != 0 {
		text += fmt.Sprintf("[%d]", n)
	}
	if p.transaction {
		text += "(TX)"
	}
	return text + "> "
}

// run runs a line, and says whether it was the last.
func (p *prompter) run(ctx context.Context, line string) (quit bool) {
	words := strings.Fields(line)
	switch {
	case len(words) == 1 && is(words[0], "clear"):
		fmt.Fprint(p.t.Out, "\x1b[H\x1b[2J")
		return false
	case len(words) > 0 && (is(words[0], "help") || words[0] == "?"):
		p.help(ctx, words[1:])
		return false
	}
	ctx, stop := p.interruptible(ctx)
	defer stop()
	_, quit, err := p.line(ctx, line)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(p.t.Out)
	case err != nil:
		fmt.Fprintln(p.Err, oneLine(err))
	}
	return quit
}

// interruptible returns a context that ends with ctx and when Ctrl-C is pressed, until stop
// is called.
func (p *prompter) interruptible(ctx context.Context) (interruptible context.Context, stop func()) {
	select {
	case <-p.interrupts: // it was meant for the command before
	default:
	}
	ctx, cancel := context.WithCancel(ctx)
	var waiter sync.WaitGroup
	waiter.Go(func() {
		select {
		case <-p.interrupts:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(); waiter.Wait() }
}

func (p *prompter) help(ctx context.Context, words []string) {
	if len(words) == 0 {
		fmt.Fprint(p.t.Out, `Type a command of Redis, such as: SET greeting hello EX 60
  Tab             completes a command, or shows its arguments
  help COMMAND    shows what a command does
  N COMMAND       runs a command N times
  clear           clears the screen
  exit            ends, as Ctrl-D does
`)
		return
	}
	command, ok := p.commands(ctx).Find(words)
	if !ok {
		fmt.Fprintf(p.t.Out, "The server has no command %q.\n", strings.Join(words, " "))
		return
	}
	fmt.Fprintf(p.t.Out, "%s %s\n  %s\n", command.Name, command.Syntax, command.Summary)
}

// commands returns the table of the server; empty if it is not to be had. In a
// transaction the question for it would be queued.
func (p *prompter) commands(ctx context.Context) Table {
	if p.table == nil && !p.transaction {
		if table, err := LoadTable(ctx, p.Client); err == nil {
			p.table = table
		}
	}
	return p.table
}

// complete completes the word before pos, lists what it may become, or shows
// the arguments of the command.
func (p *prompter) complete(ctx context.Context, line string, pos int) (string, int, bool) {
	before, after := line[:pos], line[pos:]
	words, err := resp.SplitWords(before)
	if err != nil {
		return line, pos, true
	}
	if len(words) == 0 || strings.HasSuffix(before, " ") {
		words = append(words, "")
	}
	typed := words[len(words)-1]
	candidates := p.commands(ctx).Candidates(words)
	switch {
	case len(words) == 1 && typed == "":
		return line, pos, true // all commands would fill the screen
	case len(candidates) == 0 || len(candidates) == 1 && is(candidates[0], typed):
		if command, ok := p.table.Find(words); ok {
			p.show(command.Name + " " + command.Syntax)
		}
		if len(candidates) == 1 && after == "" {
			return line + " ", pos + 1, true
		}
		return line, pos, true
	}
	completed := commonPrefix(candidates)
	switch {
	case len(candidates) == 1:
		completed += " "
	case len(completed) == len(typed):
		p.show(strings.Join(candidates, "  "))
	}
	if typed != "" && typed == strings.ToLower(typed) {
		completed = strings.ToLower(completed)
	}
	before = strings.TrimSuffix(before, typed) + completed
	return before + after, len(before), true
}

// show writes a line above the prompt.
func (p *prompter) show(text string) { _, _ = p.editor.Write([]byte(text + "\n")) }

// commonPrefix is what all names begin with.
func commonPrefix(names []string) string {
	prefix := names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return prefix
}

// oneLine writes an error in one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
