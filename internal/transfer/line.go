package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/values"
)

// line is one line of an export: an entry, or the end.
type line struct {
	Cache string `json:"cache"`
	// One of the two: bytes that are not UTF-8 are in base64.
	Key   *string `json:"key,omitempty"`
	Key64 []byte  `json:"key_base64,omitempty"`
	Type  string  `json:"type,omitempty"`
	// One of the three: a string, one that is not UTF-8, or a collection as the payload
	// that DUMP of Redis gives.
	Value   *string `json:"value,omitempty"`
	Value64 []byte  `json:"value_base64,omitempty"`
	Dump64  []byte  `json:"dump_base64,omitempty"`

	TTL       *int64     `json:"ttl_ms,omitempty"`     // that was left; without: it does not expire
	ExpiresAt *time.Time `json:"expires_at,omitempty"` // the same as a time

	StaleSeconds int `json:"stale_seconds,omitempty"`
	Tags         int `json:"tags,omitempty"`

	// The last line of a complete export has these instead.
	End     bool   `json:"end,omitempty"`
	Entries *int64 `json:"entries,omitempty"`
}

// lastExpiry is the latest expiry that a line has: RFC 3339, and with it JSON, ends with the
// year 9999. Redis and Howdah know later ones.
var lastExpiry = time.Date(9999, time.December, 31, 23, 59, 59, 999_000_000, time.UTC)

// lineOf is the line of an entry.
func lineOf(cache string, e *core.StoredEntry) (*line, error) {
	l := &line{Cache: cache, Type: values.Kind(e.Kind).String(), StaleSeconds: e.StaleSeconds, Tags: e.Tags}
	l.Key, l.Key64 = pointerOr64(e.Key)
	if !e.ExpiresAt.IsZero() {
		left, at := e.TTL.Milliseconds(), e.ExpiresAt.UTC()
		if at.After(lastExpiry) {
			at = lastExpiry
		}
		l.TTL, l.ExpiresAt = &left, &at
	}
	if values.Kind(e.Kind) == values.KindString {
		l.Value, l.Value64 = pointerOr64(e.Value)
		return l, nil
	}
	value, err := values.Decode(values.Kind(e.Kind), e.Value)
	if err != nil {
		return nil, fmt.Errorf("key %.100q of cache %s: %w", e.Key, cache, err)
	}
	l.Dump64 = values.Dump(value)
	return l, nil
}

func pointerOr64(b []byte) (*string, []byte) {
	if utf8.Valid(b) {
		text := string(b)
		return &text, nil
	}
	return nil, b
}

// errTagged refuses an entry that would no longer be invalidated by its tags.
var errTagged = errors.New("the entry has tags, whose names are not in the file: --drop-tags stores it without them")

// parseLine reads a line. at is when the entry expires if the time counts from now; the
// time that is left then counts instead of the time of the expiry.
func parseLine(text []byte, now int64, fromNow, dropTags bool) (*line, Entry, error) {
	l := new(line)
	if err := json.Unmarshal(text, l); err != nil {
		return nil, Entry{}, fmt.Errorf("the line is no JSON of an export: %w", err)
	}
	if l.End {
		return l, Entry{}, nil
	}
	var e Entry
	kind, known := kindOf(l.Type)
	switch {
	case (l.Key == nil) == (l.Key64 == nil):
		return l, e, errors.New("the line has not one of key and key_base64")
	case !known:
		return l, e, errors.New(reasonType)
	case l.Tags > 0 && !dropTags:
		return l, e, errTagged
	}
	if e.Key = string(l.Key64); l.Key != nil {
		e.Key = *l.Key
	}
	e.Kind = kind
	if l.ExpiresAt != nil {
		e.ExpiresAt = max(1, l.ExpiresAt.UnixMilli())
	}
	if fromNow && l.TTL != nil {
		e.ExpiresAt = deadline(now, max(*l.TTL, 0))
	}
	switch {
	case kind == values.KindString && (l.Value == nil) != (l.Value64 == nil) && l.Dump64 == nil:
		if e.Value = l.Value64; l.Value != nil {
			e.Value = []byte(*l.Value)
		}
		return l, e, nil
	case kind == values.KindString || l.Dump64 == nil:
		return l, e, errors.New("the line has no value of its type: value or value_base64 for a string, dump_base64 for a collection")
	}
	value, err := values.Restore(l.Dump64)
	if err == nil && value.Kind() != kind {
		err = errors.New("dump_base64 is of another type")
	}
	if err != nil {
		return l, e, err
	}
	e.Value = values.Encode(nil, value)
	return l, e, nil
}
