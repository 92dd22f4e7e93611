package lua

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// jsonToken is a token of JSON, by the names that cjson's errors have.
type jsonToken string

const (
	jsonObjectBegin jsonToken = "T_OBJ_BEGIN"
	jsonObjectEnd   jsonToken = "T_OBJ_END"
	jsonArrayBegin  jsonToken = "T_ARR_BEGIN"
	jsonArrayEnd    jsonToken = "T_ARR_END"
	jsonString      jsonToken = "T_STRING"
	jsonNumber      jsonToken = "T_NUMBER"
	jsonBoolean     jsonToken = "T_BOOLEAN"
	jsonNull        jsonToken = "T_NULL"
	jsonColon       jsonToken = "T_COLON"
	jsonComma       jsonToken = "T_COMMA"
	jsonEnd         jsonToken = "T_END"
)

// jsonReader reads JSON as cjson does.
type jsonReader struct {
	th       *thread
	settings *jsonSettings
	text     string
	at       int
	index    int // of the token
	token    jsonToken
	value    value
	depth    int
}

func (th *thread) jsonDecode(settings *jsonSettings, args []value) []value {
	if len(args) != 1 {
		th.argumentError(0, "expected 1 argument")
	}
	r := &jsonReader{th: th, settings: settings, text: th.checkString(args, 0)}
	if len(r.text) >= 2 && (r.text[0] == 0 || r.text[1] == 0) {
		th.fail("JSON parser does not support UTF-16 or UTF-32")
	}
	r.next()
	v := r.process()
	if r.next(); r.token != jsonEnd {
		r.expected("the end")
	}
	return th.one(v)
}

func (r *jsonReader) expected(what string) {
	r.th.fail("Expected %s but found %s at character %d", what, r.token, r.index+1)
}

func (r *jsonReader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// invalid makes an error the current token.
func (r *jsonReader) invalid(what string) { r.token, r.index = jsonToken(what), r.at }

func (r *jsonReader) next() {
	r.th.m.tick()
	for c := r.peek(); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = r.peek() {
		r.at++
	}
	r.index = r.at
	c := r.peek()
	for i, t := range []jsonToken{jsonObjectBegin, jsonObjectEnd, jsonArrayBegin, jsonArrayEnd, jsonComma, jsonColon} {
		if c == "{}[],:"[i] {
			r.token = t
			r.at++
			return
		}
	}
	rest := r.text[r.at:]
	switch {
	case c == 0:
		r.token = jsonEnd
	case c == '"':
		r.string()
	case c == '-' || isDigit(int(c)):
		if r.settings.decodeInvalid == 0 && jsonInvalidNumber(rest) {
			r.invalid("invalid number")
			return
		}
		r.number(rest)
	case strings.HasPrefix(rest, "true"):
		r.word(jsonBoolean, trueValue, 4)
	case strings.HasPrefix(rest, "false"):
		r.word(jsonBoolean, falseValue, 5)
	case strings.HasPrefix(rest, "null"):
		r.word(jsonNull, value{o: r.th.m.null}, 4)
	case r.settings.decodeInvalid != 0 && strings.IndexByte("+iInN", c) >= 0 && jsonInvalidNumber(rest):
		r.number(rest)
	default:
		r.invalid("invalid token")
	}
}

func (r *jsonReader) word(t jsonToken, v value, n int) {
	r.token, r.value = t, v
	r.at += n
}

// jsonInvalidNumber tells whether a number is none of JSON: hexadecimal, with
// leading zeros or a plus, infinite or NaN.
func jsonInvalidNumber(s string) bool {
	if strings.HasPrefix(s, "+") {
		return true
	}
	s = strings.TrimPrefix(s, "-")
	if strings.HasPrefix(s, "0") {
		return len(s) > 1 && (s[1]|0x20 == 'x' || isDigit(int(s[1])))
	}
	if len(s) < 3 || s[0] <= '9' {
		return false
	}
	word := strings.ToLower(s[:3])
	return word == "inf" || word == "nan"
}

func (r *jsonReader) number(rest string) {
	n, length := scanNumber(rest)
	if length == 0 {
		r.invalid("invalid number")
		return
	}
	r.word(jsonNumber, number(n), length)
}

// scanNumber reads the longest number at the start of s, as strtod of C.
func scanNumber(s string) (n float64, length int) {
	i := 0
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	lower := strings.ToLower(s[i:min(len(s), i+8)])
	for _, word := range []string{"infinity", "inf", "nan"} {
		if strings.HasPrefix(lower, word) {
			n, _ = parseNumber(s[:i+len(word)])
			return n, i + len(word)
		}
	}
	isDigit, exponent := isDigit, byte('e')
	if strings.HasPrefix(lower, "0x") {
		hex := func(c int) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }
		if j := i + 2; j < len(s) && (hex(int(s[j])) || s[j] == '.' && j+1 < len(s) && hex(int(s[j+1]))) {
			isDigit, exponent, i = hex, 'p', i+2
		}
	}
	digits := 0
	for point := false; i < len(s); i++ {
		if s[i] == '.' && !point {
			point = true
		} else if isDigit(int(s[i])) {
			digits++
		} else {
			break
		}
	}
	if digits == 0 {
		return 0, 0
	}
	if i < len(s) && s[i]|0x20 == exponent {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		for k := j; k < len(s) && s[k] >= '0' && s[k] <= '9'; k++ {
			i = k + 1
		}
	}
	n, _ = parseNumber(s[:i])
	return n, i
}

func (r *jsonReader) string() {
	r.at++
	var b []byte
	for {
		plain := r.at
		for r.at < len(r.text) && r.text[r.at] != '"' && r.text[r.at] != '\\' && r.text[r.at] != 0 {
			r.at++
		}
		b = append(b, r.text[plain:r.at]...)
		switch r.peek() {
		case 0:
			r.invalid("unexpected end of string")
			return
		case '"':
			r.at++
			r.th.m.ticks(len(b) / 32)
			r.token, r.value = jsonString, r.th.m.newString(string(b))
			return
		}
		var ok bool
		if b, ok = r.escape(b); !ok {
			return
		}
	}
}

func (r *jsonReader) escape(b []byte) ([]byte, bool) {
	c := byte(0)
	if r.at+1 < len(r.text) {
		c = r.text[r.at+1]
	}
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 && c != 0 {
		r.at += 2
		return append(b, "\"\\/\b\f\n\r\t"[i]), true
	}
	if c != 'u' {
		r.invalid("invalid escape code")
		return b, false
	}
	code, ok := r.hex(r.at + 2)
	length := 6
	if ok && code&0xF800 == 0xD800 {
		var low rune
		ok = code&0x400 == 0 && strings.HasPrefix(r.text[min(r.at+6, len(r.text)):], `\u`)
		if ok {
			low, ok = r.hex(r.at + 8)
			ok = ok && low&0xFC00 == 0xDC00
		}
		code, length = (code&0x3FF)<<10+low&0x3FF+0x10000, 12
	}
	if !ok {
		r.invalid("invalid unicode escape code")
		return b, false
	}
	r.at += length
	return utf8.AppendRune(b, code), true
}

func (r *jsonReader) hex(at int) (rune, bool) {
	if at+4 > len(r.text) {
		return 0, false
	}
	n, err := strconv.ParseUint(r.text[at:at+4], 16, 32)
	return rune(n), err == nil
}

func (r *jsonReader) descend() {
	if r.depth++; r.depth > r.settings.decodeDepth {
		r.th.fail("Found too many nested data structures (%d) at character %d", r.depth, r.at)
	}
}

// process reads the value that the current token begins.
func (r *jsonReader) process() value {
	switch r.token {
	case jsonString, jsonNumber, jsonBoolean, jsonNull:
		return r.value
	case jsonObjectBegin:
		return r.object()
	case jsonArrayBegin:
		return r.array()
	}
	r.expected("value")
	return nilValue
}

func (r *jsonReader) object() value {
	r.descend()
	t := r.th.m.newTable(0, 0)
	for r.next(); r.token != jsonObjectEnd; r.next() {
		if r.token != jsonString {
			r.expected("object key string")
		}
		key := r.value
		if r.next(); r.token != jsonColon {
			r.expected("colon")
		}
		r.next()
		t.set(key, r.process())
		r.next()
		if r.token == jsonObjectEnd {
			break
		}
		if r.token != jsonComma {
			r.expected("comma or object end")
		}
		if r.next(); r.token != jsonString {
			r.expected("object key string")
		}
		r.back()
	}
	r.depth--
	return value{o: t}
}

// back lets next give the same token again.
func (r *jsonReader) back() { r.at = r.index }

func (r *jsonReader) array() value {
	r.descend()
	t := r.th.m.newTable(0, 0)
	r.next()
	for i := 1; r.token != jsonArrayEnd || i > 1; i++ {
		t.setInt(i, r.process())
		if r.next(); r.token == jsonArrayEnd {
			break
		}
		if r.token != jsonComma {
			r.expected("comma or array end")
		}
		r.next()
	}
	r.depth--
	return value{o: t}
}
