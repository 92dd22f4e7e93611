package rediscli

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/howdah/howdah/internal/resp"
)

// Format is how replies are written.
type Format int

// The formats.
const (
	Standard Format = iota // for people: types, quotes and numbered elements
	Raw                    // the bytes of values, one a line
	JSON                   // one line of JSON
)

// Append appends a reply with its newline. Standard and Raw are those of
// redis-cli to the byte. JSON has the values that redis-cli has, but every line is
// valid: an error reply is an object with the field "error", bytes that are no text
// become U+FFFD, and numbers that JSON does not have are text.
func (f Format) Append(dst []byte, reply resp.Reply) []byte {
	switch f {
	case Raw:
		return append(appendRaw(dst, reply), '\n')
	case JSON:
		return append(appendJSON(dst, reply), '\n')
	}
	return appendStandard(dst, reply, "")
}

// appendStandard appends a reply whose further lines begin with prefix.
func appendStandard(dst []byte, r resp.Reply, prefix string) []byte {
	switch r.Kind {
	case resp.Error:
		return fmt.Appendf(dst, "(error) %s\n", r.Str)
	case resp.Integer:
		return fmt.Appendf(dst, "(integer) %d\n", r.Int)
	case resp.Double:
		return fmt.Appendf(dst, "(double) %s\n", r.Str)
	case resp.Bulk:
		return append(appendQuoted(dst, r.Str), '\n')
	case resp.Null:
		return append(dst, "(nil)\n"...)
	case resp.Boolean:
		return fmt.Appendf(dst, "(%t)\n", r.Int == 1)
	case resp.Array, resp.Map, resp.Set, resp.Push:
		return appendElements(dst, r, prefix)
	}
	return append(append(dst, r.Str...), '\n') // Simple, Verbatim, BigNumber
}

// appendElements appends an aggregate with numbered elements.
func appendElements(dst []byte, r resp.Reply, prefix string) []byte {
	count, name, mark := elements(r)
	if count == 0 {
		return fmt.Appendf(dst, "(empty %s)\n", name)
	}
	step := 1
	if r.Kind == resp.Map {
		step = 2
	}
	width := len(strconv.Itoa(count))
	inner := prefix + strings.Repeat(" ", width+2)
	for i := range count {
		if i > 0 {
			dst = append(dst, prefix...) // the number of the parent stands before the first
		}
		dst = fmt.Appendf(dst, "%*d%c ", width, i+1, mark)
		dst = appendStandard(dst, r.Elems[i*step], inner)
		if r.Kind == resp.Map {
			value := r.Elems[i*step+1]
			dst = append(dst[:len(dst)-1], " => "...)
			if n, _, _ := elements(value); n > 1 {
				dst = append(append(dst, '\n'), inner...)
			}
			dst = appendStandard(dst, value, inner)
		}
	}
	return dst
}

// elements returns how many elements an aggregate has, what it is called, and
// what stands behind their numbers. Other replies have none.
func elements(r resp.Reply) (count int, name string, mark rune) {
	switch r.Kind {
	case resp.Map:
		return len(r.Elems) / 2, "hash", '#'
	case resp.Set:
		return len(r.Elems), "set", '~'
	case resp.Push:
		return len(r.Elems), "push", ')'
	}
	return len(r.Elems), "array", ')'
}

// Quote writes bytes as one word of a command line.
func Quote(text []byte) string { return string(appendQuoted(nil, text)) }

// appendQuoted appends bytes in quotes, so that a terminal shows and obeys none
// of them.
func appendQuoted(dst, text []byte) []byte {
	dst = append(dst, '"')
	for _, c := range text {
		switch c {
		case '\\', '"':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\a':
			dst = append(dst, `\a`...)
		case '\b':
			dst = append(dst, `\b`...)
		default:
			if ' ' <= c && c <= '~' {
				dst = append(dst, c)
			} else {
				dst = fmt.Appendf(dst, `\x%02x`, c)
			}
		}
	}
	return append(dst, '"')
}

func appendRaw(dst []byte, r resp.Reply) []byte {
	switch r.Kind {
	case resp.Null:
		return dst
	case resp.Error:
		return append(append(dst, r.Str...), '\n')
	case resp.Boolean:
		return fmt.Appendf(dst, "(%t)", r.Int == 1)
	case resp.Integer:
		return strconv.AppendInt(dst, r.Int, 10)
	case resp.Array, resp.Set, resp.Push, resp.Map:
		for i, elem := range r.Elems {
			switch {
			case i > 0 && r.Kind == resp.Map && i%2 == 1:
				dst = append(dst, ' ')
			case i > 0:
				dst = append(dst, '\n')
			}
			dst = appendRaw(dst, elem)
		}
		return dst
	}
	return append(dst, r.Str...)
}

func appendJSON(dst []byte, r resp.Reply) []byte {
	switch r.Kind {
	case resp.Null:
		return append(dst, "null"...)
	case resp.Error:
		return append(appendJSONText(append(dst, `{"error":`...), r.Str), '}')
	case resp.Boolean:
		return strconv.AppendBool(dst, r.Int == 1)
	case resp.Integer:
		return strconv.AppendInt(dst, r.Int, 10)
	case resp.Double:
		if math.IsInf(r.Float, 0) || math.IsNaN(r.Float) {
			return appendJSONText(dst, r.Str)
		}
		return append(dst, r.Str...)
	case resp.BigNumber:
		return append(dst, r.Str...)
	case resp.Map:
		dst = append(dst, '{')
		for i := 0; i+1 < len(r.Elems); i += 2 {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendJSONKey(dst, r.Elems[i]), ':')
			dst = appendJSON(dst, r.Elems[i+1])
		}
		return append(dst, '}')
	case resp.Array, resp.Set, resp.Push:
		dst = append(dst, '[')
		for i, elem := range r.Elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, elem)
		}
		return append(dst, ']')
	}
	return appendJSONText(dst, r.Str)
}

// appendJSONKey appends a key of a map, which JSON wants as text.
func appendJSONKey(dst []byte, key resp.Reply) []byte {
	switch key.Kind {
	case resp.Simple, resp.Bulk, resp.Verbatim:
		return appendJSONText(dst, key.Str)
	}
	return appendJSONText(dst, appendJSON(nil, key))
}

func appendJSONText(dst, text []byte) []byte {
	if !utf8.Valid(text) {
		text = []byte(strings.ToValidUTF8(string(text), "\uFFFD"))
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(string(text)) // a string cannot fail
	return append(dst, strings.TrimSuffix(b.String(), "\n")...)
}
