package console

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// formats are the functions of the templates.
var formats = template.FuncMap{
	"number": counted, "some": some, "atLeastOne": func(n int64) int64 { return max(n, 1) }, "bytes": func(n int64) string { return size(n) }, "bytesInt": func(n int) string { return size(n) }, "percent": percent, "rate": rate, "whole": whole, "sizeOf": sizeOf,
	"ago": ago, "clock": clock, "visible": visible, "key64": key64, "sparkline": sparkline,
	"bar": bar, "budgetBar": budgetBar,
	"milliseconds": milliseconds, "dict": dict, "means": func(ways ...string) []string { return ways },
	"literal": literal, "bytesLiteral": bytesLiteral, "keyLiteral": keyLiteral, "userCondition": userCondition,
}

const unknown = "–"

// dict makes a map of names and values, for templates that take several.
func dict(pairs ...any) map[string]any {
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

// number writes a count with groups of three digits.
func number[N int | int32 | int64](count N) string {
	n := int64(count)
	if n < 0 {
		return "-" + number(-n)
	}
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// counted is number for templates, which know no type parameters.
func counted(n any) string {
	switch n := n.(type) {
	case int:
		return number(n)
	case uint64:
		return number(int64(n))
	case int64:
		return number(n)
	}
	return unknown
}

// some writes a count with its noun: "1 entry", "2 entries". The plural has an "s" unless it is given.
func some(n any, noun string, plural ...string) string {
	text := counted(n)
	switch {
	case text == "1":
		return "1 " + noun
	case len(plural) > 0:
		return text + " " + plural[0]
	}
	return text + " " + noun + "s"
}

// entriesText is some entries.
func entriesText(n int64) string { return some(n, "entry", "entries") }

// whole is number of a count that may be unknown.
func whole(n *int64) string {
	if n == nil {
		return unknown
	}
	return number(*n)
}

// size writes bytes in binary units.
func size[N int | int64](n N) string {
	value, unit := float64(n), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if value < 1024 {
			break
		}
		value, unit = value/1024, next
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%s %s", digits(value), unit)
}

// sizeOf is size of what may be unknown.
func sizeOf(n *int64) string {
	if n == nil {
		return unknown
	}
	return size(*n)
}

// digits writes a number with about three digits.
func digits(value float64) string {
	switch {
	case value >= 99.95:
		return number(int64(math.Round(value)))
	case value >= 9.995:
		return fmt.Sprintf("%.1f", value)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.2f", value), ".00")
}

// rate writes events a second.
func rate(n *float64) string {
	if n == nil {
		return unknown
	}
	return digits(*n)
}

func percent(share *float64) string {
	switch {
	case share == nil:
		return unknown
	case *share > 0.9949 && *share < 1:
		return fmt.Sprintf("%.1f %%", 100*min(*share, 0.999))
	}
	return fmt.Sprintf("%.0f %%", 100**share)
}

func shareOf(part, all int64) *float64 {
	if all <= 0 {
		return nil
	}
	s := float64(part) / float64(all)
	return &s
}

// milliseconds writes seconds.
func milliseconds(seconds *float64) string {
	if seconds == nil {
		return unknown
	}
	return digits(*seconds*1000) + " ms"
}

// duration writes a length of time by its two largest units.
func duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + duration(max(-d, -(d+1))) // -math.MinInt64 is negative
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	units := []struct {
		name string
		unit time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}}
	for i, u := range units {
		if d >= u.unit && i+1 < len(units) {
			text := fmt.Sprintf("%d %s", d/u.unit, u.name)
			if rest := d % u.unit / units[i+1].unit; rest > 0 && d/u.unit < 100 {
				text += fmt.Sprintf(" %d %s", rest, units[i+1].name)
			}
			return text
		}
	}
	return ""
}

// ago writes how long ago a moment was.
func ago(now, then time.Time) string {
	if then.IsZero() {
		return "never"
	}
	return duration(max(0, now.Sub(then))) + " ago"
}

func clock(t time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// visible makes what browsers would hide or obey readable: control characters, characters
// that change the direction of text or have no width, and bytes that are not UTF-8.
func visible(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r), unicode.Is(unicode.Co, r):
			fmt.Fprintf(&b, `\u{%X}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// key64 writes a key for a URL.
func key64(key []byte) string { return base64.RawURLEncoding.EncodeToString(key) }

// literal quotes a text for the SQL that a page shows. A backslash is itself in it only where
// standard_conforming_strings is on, so such a text is written with escapes.
func literal(text string) string {
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if strings.Contains(text, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

// bytesLiteral writes a key for the SQL that a page shows.
func bytesLiteral(key []byte) string {
	if isText(key) && visible(string(key)) == string(key) && !strings.ContainsAny(string(key), "\\\n\t") {
		return "convert_to(" + literal(string(key)) + ", 'UTF8')"
	}
	return "'\\x" + hex.EncodeToString(key) + "'::bytea"
}

// keyLiteral is bytesLiteral of a key as key64 writes it.
func keyLiteral(text string) string {
	key, _ := base64.RawURLEncoding.DecodeString(text) // our own text
	return bytesLiteral(key)
}

// userCondition restricts the SQL that the page of sessions shows.
func userCondition(user string) string {
	if user == "" {
		return ""
	}
	return " WHERE user_id = " + literal(visible(user))
}
