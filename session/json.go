package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDigits bounds the text of a number, and its exponent.
const maxDigits = 400

// CheckJSON says whether Merge can work on a JSON payload, or on fields of one.
// A session whose first payload it would refuse could not be changed any more.
// PostgreSQL takes no zero character and no half of a surrogate pair in a
// string; and as it writes numbers without exponent, the six bytes 1e9999 would
// become ten thousand, so numbers must be within the range of a float64 and of
// at most 400 characters.
//
// Error: ErrNotJSON.
func CheckJSON(text []byte) error {
	if !json.Valid(text) || !utf8.Valid(text) {
		return fmt.Errorf("%w: not JSON in UTF-8", ErrNotJSON)
	}
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\': // only strings hold one
			r := escaped(text[i:])
			switch {
			case r == 0:
				return fmt.Errorf("%w: a string holds a zero character", ErrNotJSON)
			case !utf16.IsSurrogate(r):
				i++ // the next one may be a quote
			case utf16.DecodeRune(r, escaped(text[i+6:])) == utf8.RuneError:
				return fmt.Errorf("%w: a string holds half of a surrogate pair", ErrNotJSON)
			default:
				i += 11
			}
		case !quoted && (c == '-' || '0' <= c && c <= '9'):
			number := text[i:]
			if end := bytes.IndexAny(number, ",]} \t\r\n"); end >= 0 {
				number = number[:end]
			}
			if !short(string(number)) {
				return fmt.Errorf("%w: the number %.30s is out of the range of a float64, or too long", ErrNotJSON, number)
			}
			i += len(number) - 1
		}
	}
	return nil
}

// escaped is the character of the \u escape that text begins with, or -1.
func escaped(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	r, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(r)
}

// short tells whether a number is short without its exponent, too. The range
// alone does not tell: 0e-9999 is zero.
func short(number string) bool {
	exponent := 0
	if _, text, ok := strings.Cut(strings.ToLower(number), "e"); ok {
		var err error
		if exponent, err = strconv.Atoi(text); err != nil {
			return false
		}
	}
	_, err := strconv.ParseFloat(number, 64)
	return err == nil && len(number) <= maxDigits && -maxDigits <= exponent && exponent <= maxDigits
}

// marshal is json.Marshal without escapes for HTML: they would count as bytes of
// a payload, and PostgreSQL does not keep them.
func marshal(v any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// object is fields as a JSON object that Merge can work on. Error: ErrNotJSON.
func object(fields map[string]json.RawMessage) ([]byte, error) {
	text, err := marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	return text, CheckJSON(text)
}
