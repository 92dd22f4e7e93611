package transfer

import (
	"encoding/base64"
	"unicode/utf8"

	"github.com/howdah/howdah/internal/values"
)

// textOr64 returns bytes as the text that they are, or in base64 if they are not UTF-8.
func textOr64(s string) (text, base string) {
	if utf8.ValidString(s) {
		return s, ""
	}
	return "", base64.StdEncoding.EncodeToString([]byte(s))
}

// matches reports whether a key matches a pattern of Redis.
func matches(pattern, key string) bool { return values.Match([]byte(pattern), []byte(key)) }
