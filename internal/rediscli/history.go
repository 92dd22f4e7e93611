package rediscli

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/howdah/howdah/internal/resp"
)

// maxHistory is how many lines are kept.
const maxHistory = 1000

// History holds what was typed, the latest last, and appends it to a file that
// only its owner can read. Lines that may hold a password are in neither. It
// implements the History of golang.org/x/term.
type History struct {
	lines []string
	file  *os.File
}

// OpenHistory reads a history and goes on writing to it. path may be "": then
// nothing is kept. With an error the History works, and is not stored.
func OpenHistory(path string) (*History, error) {
	h := &History{}
	if path == "" {
		return h, nil
	}
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return h, fmt.Errorf("cannot read the history: %w", err)
	}
	for line := range strings.Lines(string(content)) {
		h.remember(strings.TrimRight(line, "\r\n"))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return h, fmt.Errorf("cannot store the history: %w", err)
	}
	if strings.Count(string(content), "\n") > 2*maxHistory {
		if err := h.shorten(path); err != nil {
			return h, err
		}
	}
	if h.file, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600); err != nil {
		return h, fmt.Errorf("cannot store the history: %w", err)
	}
	return h, nil
}

// shorten replaces the file by the lines that are kept.
func (h *History) shorten(path string) error {
	file, err := os.CreateTemp(filepath.Dir(path), "history-")
	if err != nil {
		return fmt.Errorf("cannot shorten the history: %w", err)
	}
	out := bufio.NewWriter(file)
	for _, line := range h.lines {
		fmt.Fprintln(out, line)
	}
	if err = errors.Join(out.Flush(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return fmt.Errorf("cannot shorten the history: %w", err)
	}
	return nil
}

// Close closes the file.
func (h *History) Close() {
	if h.file != nil {
		_ = h.file.Close()
		h.file = nil
	}
}

// Add adds a line, unless it is empty, repeats the one before, or may hold a
// password.
func (h *History) Add(line string) {
	line = strings.TrimSpace(line)
	if h.remember(line) && h.file != nil {
		_, _ = fmt.Fprintln(h.file, line) // a full disk must not stop the session
	}
}

func (h *History) remember(line string) bool {
	if line == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line || Sensitive(line) {
		return false
	}
	h.lines = append(h.lines, line)
	if len(h.lines) > maxHistory {
		h.lines = slices.Delete(h.lines, 0, 1)
	}
	return true
}

// Len is the number of lines.
func (h *History) Len() int { return len(h.lines) }

// At returns a line; 0 is the latest.
func (h *History) At(i int) string { return h.lines[len(h.lines)-1-i] }

// secretWords are words of commands whose arguments are passwords: AUTH, also
// in HELLO and MIGRATE, ACL SETUSER, and settings.
var secretWords = regexp.MustCompile(`(?i)\b(auth2?|setuser|requirepass|masterauth|masteruser|passw(or)?d|tls-key-file-pass)\b`)

// Sensitive says whether a command line may hold a password. It looks at the
// line as typed, for lines that cannot be taken apart, and at its words, for
// those that are written with escapes.
func Sensitive(line string) bool {
	if secretWords.MatchString(line) {
		return true
	}
	words, _ := resp.SplitWords(line)
	return slices.ContainsFunc(words, secretWords.MatchString)
}
