package observe

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// maskedText stands where a secret part of a key was.
const maskedText = "***"

// secretMarks are what stands before the secret in the keys of session stores and of
// tokens: whoever reads such a key can take the session over. Lower case.
var secretMarks = []string{
	"sess:",                 // connect-redis
	"session:",              // Flask-Session, Django, Spring, Tomcat, scs, PHP
	"sessions:",             // Spring's own index, Iris
	"session_",              // gorilla/sessions, gin
	"session-",              // a common form
	"session/",              // likewise
	"session_id",            // Rails
	"sessions.cache",        // django.contrib.sessions.cache and .cached_db
	"starsessions.",         // Starlette
	"sf_s",                  // Symfony
	"token:",                // access, refresh and reset tokens
	"tokens:",               // likewise
	"token_",                // likewise
	"password_reset",        // Django, Rails, Laravel
	"magic_link",            // logins by mail
	"authorization_code",    // OAuth servers
	"oauth2_authorization:", // Spring
}

// Mask hides the secret part of keys that hold one, such as the session token in
// "sess:3b1f...". It does so wherever keys are shown to people who need not have the
// right to read the entries. It is immutable. A nil Mask has the built-in patterns.
type Mask struct {
	marks []string // in lower case, further to secretMarks
	all   bool
}

// NewMask returns a Mask with the built-in patterns and those of an operator. A pattern
// is text, such as "invite:": a key that contains it, in either case, is shown up to the
// end of the text. One "*" may end it, and means nothing; "*" alone hides every key.
// It returns an error if a pattern is empty or has a "*" elsewhere.
func NewMask(extra []string) (*Mask, error) {
	m := &Mask{}
	for _, pattern := range extra {
		text := strings.TrimSuffix(pattern, "*")
		switch {
		case pattern == "":
			return nil, errors.New(`a pattern of keys to mask is empty; give the text before the secret, such as "invite:"`)
		case strings.Contains(text, "*"):
			return nil, fmt.Errorf(`pattern %q of keys to mask: only its end may be a *; give the text before the secret, such as "invite:"`, pattern)
		case text == "":
			m.all = true
		default:
			m.marks = append(m.marks, lowerASCII([]byte(text)))
		}
	}
	return m, nil
}

// Key returns a key as it may be shown: the key itself, or what stands before its secret
// and "***". masked says which. The bytes are those of the key, which need not be text.
func (m *Mask) Key(key []byte) (shown string, masked bool) {
	end := m.secretStart(key)
	if end < 0 {
		return string(key), false
	}
	return string(key[:end]) + maskedText, true
}

// KeyCut is Key, cut to limit bytes; "..." stands for what was cut. What is beyond
// limit bytes decides about the mask nevertheless.
func (m *Mask) KeyCut(key []byte, limit int) (shown string, masked bool) {
	shown, masked = m.Key(key)
	if len(shown) > limit {
		shown = shown[:limit] + "..."
	}
	return shown, masked
}

// Reaches reports whether the first n bytes of a key hold some of its secret. Whoever may
// not see the secret must not be able to ask for keys by so much of them either: the answers
// would tell the secret byte by byte. With len(prefix) as n it says so of a prefix.
func (m *Mask) Reaches(key []byte, n int) bool {
	start := m.secretStart(key)
	return start >= 0 && start < n
}

// Visible returns what Key shows of a key, without the text that stands for the secret.
func (m *Mask) Visible(key []byte) []byte {
	if start := m.secretStart(key); start >= 0 {
		return key[:start]
	}
	return key
}

// secretStart returns where the secret part of a key begins, or -1.
func (m *Mask) secretStart(key []byte) int {
	if m != nil && m.all {
		return 0
	}
	start := laravelSession(key)
	if token := bareToken(key); token >= 0 && (start < 0 || token < start) {
		start = token
	}
	text := lowerASCII(key)
	for _, mark := range secretMarks {
		start = firstOf(start, text, mark)
	}
	if m != nil {
		for _, mark := range m.marks {
			start = firstOf(start, text, mark)
		}
	}
	return start
}

// firstOf returns the end of mark in text, or start if that is before it.
func firstOf(start int, text, mark string) int {
	if i := strings.Index(text, mark); i >= 0 && (start < 0 || i+len(mark) < start) {
		return i + len(mark)
	}
	return start
}

// laravelSessionLength is that of the ids of Laravel's sessions.
const laravelSessionLength = 40

// laravelSession returns where the id of a Laravel session begins, or -1. Laravel puts the
// name of the application before it, and nothing that says session: the id is known by
// its form, 40 letters of both cases and digits. A SHA-1 has one case.
func laravelSession(key []byte) int {
	start := len(key) - laravelSessionLength
	if start < 0 || start > 0 && isLetterOrDigit(key[start-1]) {
		return -1
	}
	var lower, upper bool
	for _, c := range key[start:] {
		if !isLetterOrDigit(c) {
			return -1
		}
		lower = lower || 'a' <= c && c <= 'z'
		upper = upper || 'A' <= c && c <= 'Z'
	}
	if !lower || !upper {
		return -1
	}
	return start
}

func isLetterOrDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// lowerASCII returns a key with its ASCII letters in lower case, and every other byte at
// its place: keys need not be text.
func lowerASCII(key []byte) string {
	lower := make([]byte, len(key))
	for i, c := range key {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return string(lower)
}

// The lengths of the tokens of Howdah's own sessions and of those of scs: 48 and 32 bytes in
// base64url.
const (
	tokenLength    = 64
	scsTokenLength = 43
)

// bareToken returns where a session token begins in a key, or -1. It is known by its form, at
// the end of a run of letters of base64url: nothing need stand before it that says session.
func bareToken(key []byte) int {
	for end := len(key); end >= scsTokenLength; end-- {
		if end < len(key) && isBase64URL(key[end]) || !isBase64URL(key[end-1]) {
			continue // a run does not end here
		}
		for _, length := range []int{tokenLength, scsTokenLength} {
			if end >= length && isToken(key[end-length:end]) {
				if next := bareToken(key[:end-length]); next >= 0 {
					return next
				}
				return end - length
			}
		}
	}
	return -1
}

// isToken reports whether text has the form of a token. Digests in hexadecimal have one case.
func isToken(text []byte) bool {
	var lower, upper bool
	for _, c := range text {
		lower = lower || 'a' <= c && c <= 'z'
		upper = upper || 'A' <= c && c <= 'Z'
	}
	if !lower || !upper {
		return false
	}
	var raw [tokenLength / 4 * 3]byte
	if _, err := base64.RawURLEncoding.Strict().Decode(raw[:], text); err != nil {
		return false
	}
	isID := raw[6]>>4 == 7 && raw[8]>>6 == 2 // a UUID of version 7, with which tokens of Howdah begin
	return isID || len(text) == scsTokenLength && !isWords(text)
}

// isWords reports whether a text without digits is more likely a long name: of random tokens of
// this length one in 1,500 has none.
func isWords(text []byte) bool {
	digits := 0
	for _, c := range text {
		if '0' <= c && c <= '9' {
			digits++
		}
	}
	return digits == 0
}

func isBase64URL(c byte) bool { return isLetterOrDigit(c) || c == '-' || c == '_' }
