package lua

import (
	"fmt"
	"math"
)

// jsonSettings are those of an instance of cjson. Each run begins with the
// defaults.
type jsonSettings struct {
	sparseConvert   int
	sparseRatio     int
	sparseSafe      int
	encodeDepth     int
	decodeDepth     int
	encodeInvalid   int // 0: refused, 1: written, 2: null
	decodeInvalid   int
	keepBuffer      int
	numberPrecision int
}

var defaultJSON = jsonSettings{sparseRatio: 2, sparseSafe: 10, encodeDepth: 1000, decodeDepth: 1000,
	decodeInvalid: 1, keepBuffer: 1, numberPrecision: 14}

func (m *machine) jsonLibrary() *table { return m.newJSON(&m.json) }

// newJSON makes an instance of cjson.
func (m *machine) newJSON(settings *jsonSettings) *table {
	t := m.library(map[string]builtin{
		"encode": func(th *thread, args []value) []value { return th.jsonEncode(settings, args) },
		"decode": func(th *thread, args []value) []value { return th.jsonDecode(settings, args) },
		"encode_sparse_array": func(th *thread, args []value) []value {
			th.jsonArguments(args, 3)
			return th.several([]value{
				th.jsonChoice(args, 0, &settings.sparseConvert, "off", "on"),
				th.jsonInteger(args, 1, &settings.sparseRatio, 0, math.MaxInt32),
				th.jsonInteger(args, 2, &settings.sparseSafe, 0, math.MaxInt32)})
		},
		"encode_max_depth": func(th *thread, args []value) []value {
			th.jsonArguments(args, 1)
			return th.one(th.jsonInteger(args, 0, &settings.encodeDepth, 1, math.MaxInt32))
		},
		"decode_max_depth": func(th *thread, args []value) []value {
			th.jsonArguments(args, 1)
			return th.one(th.jsonInteger(args, 0, &settings.decodeDepth, 1, math.MaxInt32))
		},
		"encode_number_precision": func(th *thread, args []value) []value {
			th.jsonArguments(args, 1)
			return th.one(th.jsonInteger(args, 0, &settings.numberPrecision, 1, 14))
		},
		"encode_keep_buffer": func(th *thread, args []value) []value {
			th.jsonArguments(args, 1)
			return th.one(th.jsonChoice(args, 0, &settings.keepBuffer, "off", "on"))
		},
		"encode_invalid_numbers": func(th *thread, args []value) []value {
			th.jsonArguments(args, 1)
			return th.one(th.jsonChoice(args, 0, &settings.encodeInvalid, "off", "on", "null"))
		},
		"decode_invalid_numbers": func(th *thread, args []value) []value {
			th.jsonArguments(args, 1)
			return th.one(th.jsonChoice(args, 0, &settings.decodeInvalid, "off", "on"))
		},
		"new": func(th *thread, _ []value) []value {
			own := defaultJSON
			return th.one(value{o: th.m.newJSON(&own)})
		},
	})
	t.setString("null", value{o: m.null})
	t.setString("_NAME", str("cjson"))
	t.setString("_VERSION", str("2.1.0"))
	return t
}

func (th *thread) jsonArguments(args []value, most int) {
	if len(args) > most {
		th.argumentError(most, "found too many arguments")
	}
}

func (th *thread) jsonInteger(args []value, i int, setting *int, low, high int) value {
	if !arg(args, i).isNil() {
		n := th.checkInteger(args, i)
		if n < low || n > high {
			th.argumentError(0, fmt.Sprintf("expected integer between %d and %d", low, high))
		}
		*setting = n
	}
	return number(float64(*setting))
}

func (th *thread) jsonChoice(args []value, i int, setting *int, names ...string) value {
	switch v := arg(args, i); v.o.(type) {
	case nil:
	case boolTag:
		*setting = int(v.n)
	default:
		s, found := th.checkString(args, i), false
		for n, name := range names {
			if name == s {
				*setting, found = n, true
			}
		}
		if !found {
			th.argumentError(i, "invalid option '"+s+"'")
		}
	}
	if *setting < 2 {
		return boolean(*setting == 1)
	}
	return str(names[*setting])
}

func (th *thread) jsonEncode(settings *jsonSettings, args []value) []value {
	if len(args) != 1 {
		th.argumentError(0, "expected 1 argument")
	}
	w := &jsonWriter{th: th, settings: *settings}
	w.value(args[0], 0)
	return th.one(th.m.finished(w.dst))
}

// jsonWriter writes JSON as cjson does.
type jsonWriter struct {
	th       *thread
	settings jsonSettings
	dst      []byte
}

func (w *jsonWriter) refuse(v value, why string) {
	w.th.fail("Cannot serialise %s: %s", v.typeName(), why)
}

func (w *jsonWriter) value(v value, depth int) {
	w.th.m.tick()
	w.dst = w.th.m.grow(w.dst, 64)
	switch o := v.o.(type) {
	case string:
		w.string(o)
	case numberTag:
		w.number(v)
	case boolTag:
		w.dst = append(w.dst, v.describe()...)
	case nil, *userdata:
		w.dst = append(w.dst, "null"...)
	case *table:
		if depth++; depth > w.settings.encodeDepth {
			w.th.fail("Cannot serialise, excessive nesting (%d)", depth)
		}
		if n := w.arrayLength(v, o); n > 0 {
			w.array(o, n, depth)
		} else {
			w.object(o, depth)
		}
	default:
		w.refuse(v, "type not supported")
	}
}

func (w *jsonWriter) number(v value) {
	if math.IsInf(v.n, 0) || math.IsNaN(v.n) {
		switch {
		case w.settings.encodeInvalid == 0:
			w.refuse(v, "must not be NaN or Inf")
		case w.settings.encodeInvalid == 2:
			w.dst = append(w.dst, "null"...)
			return
		case math.IsNaN(v.n):
			w.dst = append(w.dst, "nan"...)
			return
		}
	}
	w.dst = append(w.dst, formatG(v.n, w.settings.numberPrecision)...)
}

// arrayLength is the length of a table to write as an array, or -1.
func (w *jsonWriter) arrayLength(v value, t *table) int {
	most, items := 0.0, 0
	for k, _, _ := t.next(nilValue); !k.isNil(); k, _, _ = t.next(k) {
		if !k.isNumber() || k.n < 1 || k.n != math.Floor(k.n) {
			return -1
		}
		most = max(most, k.n)
		items++
		w.th.m.tick()
	}
	s := &w.settings
	if s.sparseRatio > 0 && most > float64(items)*float64(s.sparseRatio) && most > float64(s.sparseSafe) {
		if s.sparseConvert == 0 {
			w.refuse(v, "excessively sparse array")
		}
		return -1
	}
	return int(min(most, math.MaxInt32))
}

func (w *jsonWriter) array(t *table, n, depth int) {
	w.dst = append(w.dst, '[')
	for i := 1; i <= n; i++ {
		if i > 1 {
			w.dst = append(w.dst, ',')
		}
		w.value(t.getInt(i), depth)
	}
	w.dst = append(w.dst, ']')
}

func (w *jsonWriter) object(t *table, depth int) {
	w.dst = append(w.dst, '{')
	comma := false
	t.entries(func(k, v value) {
		if comma {
			w.dst = append(w.dst, ',')
		}
		comma = true
		switch o := k.o.(type) {
		case numberTag:
			w.dst = append(w.dst, '"')
			w.number(k)
			w.dst = append(w.dst, `":`...)
		case string:
			w.string(o)
			w.dst = append(w.dst, ':')
		default:
			w.refuse(k, "table key must be a number or string")
		}
		w.value(v, depth)
	})
	w.dst = append(w.dst, '}')
}

const hexDigits = "0123456789abcdef"

func (w *jsonWriter) string(s string) {
	w.th.m.ticks(len(s) / 32)
	w.dst = append(w.dst, '"')
	for i := 0; i < len(s); i++ {
		if i&1023 == 0 {
			w.dst = w.th.m.grow(w.dst, 6*min(len(s)-i, 1024)+64)
		}
		switch c := s[i]; c {
		case '"', '\\', '/':
			w.dst = append(w.dst, '\\', c)
		case '\b':
			w.dst = append(w.dst, `\b`...)
		case '\t':
			w.dst = append(w.dst, `\t`...)
		case '\n':
			w.dst = append(w.dst, `\n`...)
		case '\f':
			w.dst = append(w.dst, `\f`...)
		case '\r':
			w.dst = append(w.dst, `\r`...)
		default:
			if c < 32 || c == 127 {
				w.dst = append(w.dst, `\u00`...)
				c, w.dst = c&15, append(w.dst, hexDigits[c>>4])
				w.dst = append(w.dst, hexDigits[c])
			} else {
				w.dst = append(w.dst, c)
			}
		}
	}
	w.dst = append(w.dst, '"')
}
