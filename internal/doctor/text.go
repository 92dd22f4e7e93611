package doctor

import (
	"fmt"
	"io"
	"strings"
)

// Style tunes WriteText.
type Style struct {
	Width   int  // of a line; default 80. Statements are never broken.
	Color   bool // mark severities with ANSI colours
	Verbose bool // show information too
}

var colours = map[Severity]string{Error: "\x1b[1;31m", Warning: "\x1b[1;33m", Info: "\x1b[1;36m"}

var headings = map[Severity]string{Error: "ERRORS", Warning: "WARNINGS", Info: "INFORMATION"}

// WriteText writes the report for people to read.
func (r *Report) WriteText(w io.Writer, s Style) error {
	if s.Width < 40 {
		s.Width = 80
	}
	p := &page{style: s}
	p.line("Database %s, PostgreSQL %s, seen as role %s.", r.Database, r.Server, r.Role)
	p.line("Examined %s and %s.", listOf("Howdah table", r.Caches), listOf("other cache or session table", r.HandMade))
	if r.Partitions > 0 {
		p.line("The keys of each cache are divided into %d partitions.", r.Partitions)
	}
	if begin := r.Begin(); begin != "" {
		p.line("%s", printable(begin))
	}
	var last Severity
	for _, f := range r.Findings {
		if f.Severity == Info && !s.Verbose {
			continue
		}
		if f.Severity != last {
			p.heading(f.Severity, r.Count(f.Severity))
			last = f.Severity
		}
		p.finding(f)
	}
	p.b.WriteString("\n" + r.Summary() + "\n")
	if n := r.Count(Info); n > 0 && !s.Verbose {
		p.line("%s: --verbose shows them.", count(int64(n), "piece of information is not shown", "pieces of information are not shown"))
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// Summary counts the findings in one sentence.
func (r *Report) Summary() string {
	errors, warnings := r.Count(Error), r.Count(Warning)
	if errors+warnings == 0 {
		return "Nothing is wrong."
	}
	return fmt.Sprintf("%s, %s.", count(int64(errors), "error", "errors"), count(int64(warnings), "warning", "warnings"))
}

func listOf(what string, names []string) string {
	switch len(names) {
	case 0:
		return "no " + what
	case 1:
		return "1 " + what + " (" + names[0] + ")"
	}
	shown := names[:min(len(names), 5)]
	more := ""
	if len(names) > len(shown) {
		more = ", ..."
	}
	return fmt.Sprintf("%d %ss (%s%s)", len(names), what, strings.Join(shown, ", "), more)
}

type page struct {
	b     strings.Builder
	style Style
}

func (p *page) line(format string, args ...any) { p.wrap("", "", fmt.Sprintf(format, args...)) }

func (p *page) heading(s Severity, n int) {
	text := fmt.Sprintf("%s (%d)", headings[s], n)
	if p.style.Color {
		text = colours[s] + text + "\x1b[0m"
	}
	p.b.WriteString("\n" + text + "\n")
}

func (p *page) finding(f Finding) {
	name := f.ID
	if p.style.Color {
		name = "\x1b[1m" + name + "\x1b[0m"
	}
	fmt.Fprintf(&p.b, "\n%s: %s\n", printable(f.Object), name)
	p.wrap("  Seen    ", "          ", printable(f.Evidence))
	p.wrap("  Why     ", "          ", f.Why)
	if len(f.Repair) > 0 {
		p.b.WriteString("  Repair\n\n")
		for _, statement := range f.Repair {
			for line := range strings.Lines(strings.TrimRight(statement, "; \n") + ";\n") {
				p.b.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
			}
		}
		p.b.WriteString("\n")
	}
	if f.Note != "" {
		p.wrap("  Note    ", "          ", printable(f.Note))
	}
}

// wrap writes text in lines of the width: the first begins with first, the
// others with rest.
func (p *page) wrap(first, rest, text string) {
	line := first
	empty := true
	for word := range strings.FieldsSeq(text) {
		if !empty && len([]rune(line))+1+len([]rune(word)) > p.style.Width {
			p.b.WriteString(line + "\n")
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	p.b.WriteString(line + "\n")
}

// printable drops control characters: names come from the database, and must
// not steer a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}
