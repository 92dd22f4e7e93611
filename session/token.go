package session

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"time"
)

// ID names a session in lists and logs. It authorises nothing.
type ID [16]byte

// newID makes a UUID of version 7 (RFC 9562): milliseconds, then random bits.
// The time only orders ids; nothing is decided by it.
func newID() ID {
	var id ID
	rand.Read(id[:])
	ms := uint64(time.Now().UnixMilli())
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}

// ParseID reads the form that String writes. Error: ErrInvalidID.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return ID{}, ErrInvalidID
	}
	digits := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return ID{}, ErrInvalidID
	}
	return id, nil
}

// String writes the id as UUIDs are written.
func (id ID) String() string {
	h := hex.EncodeToString(id[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// MarshalText writes the id as UUIDs are written, for JSON.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText writes. Error: ErrInvalidID.
func (id *ID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseID(string(text))
	return err
}

// versioned tells whether the id is a UUID of this version. Rows of other
// versions were made by others (package scsstore) and have tokens of their own.
func (id ID) versioned(version byte) bool { return id[6]>>4 == version && id[8]>>6 == 2 }

const (
	secretBytes = 32
	tokenBytes  = len(ID{}) + secretBytes

	// TokenLength is the length of every token's text: 64 characters.
	TokenLength = tokenBytes / 3 * 4
)

// Token is what the client keeps: whoever has it is logged in. Printing or
// logging one shows the session's id; only Reveal gives it away.
//
// The zero Token stands for no session.
type Token struct {
	id ID
	// A pointer: what prints a structure that holds a Token, without calling
	// its methods, prints an address.
	secret *[secretBytes]byte
}

func newToken(id ID) Token {
	t := Token{id: id, secret: new([secretBytes]byte)}
	rand.Read(t.secret[:]) // it never fails: see crypto/rand
	return t
}

// ParseToken reads a token. It asks nobody whether the token is valid. Error:
// ErrInvalidToken.
func ParseToken(text string) (Token, error) {
	var raw [tokenBytes]byte
	if len(text) != TokenLength {
		return Token{}, ErrInvalidToken
	}
	for i := range len(text) {
		if c := text[i]; c == '\r' || c == '\n' {
			return Token{}, ErrInvalidToken // the decoder would pass over them
		}
	}
	if n, err := base64.RawURLEncoding.Strict().Decode(raw[:], []byte(text)); err != nil || n != tokenBytes {
		return Token{}, ErrInvalidToken
	}
	t := Token{secret: new([secretBytes]byte)}
	copy(t.id[:], raw[:])
	copy(t.secret[:], raw[len(t.id):])
	if !t.id.versioned(7) {
		return Token{}, ErrInvalidToken
	}
	return t, nil
}

// ParseToken is the function of that name, and counts refusals in Stats.
func (m *Manager) ParseToken(text string) (Token, error) {
	token, err := ParseToken(text)
	if err != nil {
		m.stats.malformed.Add(1)
	}
	return token, err
}

// ID is the public half.
func (t Token) ID() ID { return t.id }

// Reveal returns the token's text, for the client and nobody else.
func (t Token) Reveal() string {
	if t.secret == nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(t.id[:], t.secret[:]...))
}

// hash is what the database knows of the secret. One round of SHA-256 is
// enough: 256 random bits are not guessed, however fast the hash.
func (t Token) hash() []byte {
	var secret []byte
	if t.secret != nil {
		secret = t.secret[:]
	}
	sum := sha256.Sum256(secret)
	return sum[:]
}

// Format keeps the secret out of everything that package fmt prints.
func (t Token) Format(f fmt.State, _ rune) { fmt.Fprintf(f, "[token of session %s]", t.id) }

// LogValue keeps the secret out of logs.
func (t Token) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(t)) }

// MarshalText refuses: a token gets into a document by Reveal, on purpose.
func (t Token) MarshalText() ([]byte, error) {
	return nil, fmt.Errorf("session: a token is not marshalled by accident; use Token.Reveal")
}
