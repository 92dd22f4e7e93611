package transfer

import (
	"fmt"
	"math"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/values"
	"github.com/howdah/howdah/internal/verb"
)

// Entry is a key with its value, on its way.
type Entry struct {
	Key       string
	Kind      values.Kind
	Value     []byte // of a collection: as values.Encode packs it
	ExpiresAt int64  // milliseconds since 1970 by the clock of the database; 0: it does not expire

	bytes int64 // in the source, where the value was not read
}

// expiry is that of an entry as a write takes it.
func (e *Entry) expiry() verb.Expiry {
	if e.ExpiresAt == 0 {
		return verb.ExpireNever()
	}
	return verb.ExpireAtMilli(e.ExpiresAt)
}

// size is about what an entry takes in memory.
func (e *Entry) size() int { return len(e.Key) + len(e.Value) + 100 }

// Refusal is a key that was not copied, and why.
type Refusal struct {
	Cache  string `json:"cache,omitempty"` // that it was meant for
	Key    string `json:"key,omitempty"`
	Key64  string `json:"key_base64,omitempty"` // where the key is not UTF-8
	Line   int64  `json:"line,omitempty"`       // of a file
	Type   string `json:"type,omitempty"`
	Reason string `json:"reason"`
	Bytes  int64  `json:"bytes,omitempty"` // of what is too large or too long; of a collection packed, where that is known, else in the source
	Limit  int64  `json:"limit,omitempty"` // of those bytes
}

// oversize gives a refusal for its size that size, and the limit.
func (r Refusal) oversize(l limits, key int, kind values.Kind, value int64) Refusal {
	switch r.Reason {
	case reasonKey:
		r.Bytes, r.Limit = int64(key), verb.MaxKeyBytes
	case reasonSize:
		r.Bytes, r.Limit = value, l.largest(kind)
	}
	return r
}

// The reasons that have a name of their own.
const (
	reasonType = "no such type in Howdah"
	reasonKey  = "the key is too long"
	reasonSize = "the value is too large"
	reasonFull = "the cache is full"
	reasonHash = "another live key has the same hash"
)

// limits are what a cache can hold.
type limits struct{ value int }

// refuse returns why an entry of these sizes cannot be stored, "" if it can.
func (l limits) refuse(key int, kind values.Kind, value int64) string {
	switch {
	case key > verb.MaxKeyBytes:
		return reasonKey
	case value > l.largest(kind):
		return reasonSize
	}
	return ""
}

// largest is how long a value of a kind may be; a collection, packed.
func (l limits) largest(kind values.Kind) int64 {
	if kind != values.KindString {
		return fault.MaxCollectionBytes
	}
	return int64(l.value)
}

// kindOf is the kind that TYPE names.
func kindOf(name string) (values.Kind, bool) {
	for kind := values.KindString; kind <= values.KindSortedSet; kind++ {
		if kind.String() == name {
			return kind, true
		}
	}
	return 0, false
}

// deadline is the expiry of what has so many milliseconds left.
func deadline(now, left int64) int64 {
	if left < 0 {
		return 0
	}
	return now + min(left, math.MaxInt64-now)
}

// difference says how two entries of one key differ, "" if they are equal. Expiries may differ
// by tolerance, in milliseconds.
func difference(a, b *Entry, tolerance int64) (string, error) {
	switch {
	case a.Kind != b.Kind:
		return "type", nil
	case (a.ExpiresAt == 0) != (b.ExpiresAt == 0), apart(a.ExpiresAt, b.ExpiresAt) > tolerance:
		return "ttl", nil
	case string(a.Value) == string(b.Value):
		return "", nil
	case a.Kind == values.KindString || a.Kind == values.KindList || a.Kind == values.KindSortedSet:
		return "value", nil // their packed form has one order
	}
	x, err := values.Decode(a.Kind, a.Value)
	if err != nil {
		return "", fmt.Errorf("key %.100q: %w", a.Key, err)
	}
	y, err := values.Decode(b.Kind, b.Value)
	if err != nil {
		return "", fmt.Errorf("key %.100q: %w", b.Key, err)
	}
	if !sameElements(x, y, tolerance) {
		return "value", nil
	}
	return "", nil
}

func apart(a, b int64) int64 { return max(a-b, b-a) }

// sameElements compares sets and hashes, which have no order.
func sameElements(x, y values.Value, tolerance int64) bool {
	if x.Len() != y.Len() {
		return false
	}
	switch x := x.(type) {
	case *values.Set:
		for _, member := range x.Members() {
			if !y.(*values.Set).Has(member) {
				return false
			}
		}
	case *values.Hash:
		other := y.(*values.Hash)
		for field, value := range x.All() {
			found, ok := other.Get(field)
			if !ok || found != value {
				return false
			}
			at, _ := x.FieldExpiry(field)
			otherAt, _ := other.FieldExpiry(field)
			if (at == 0) != (otherAt == 0) || apart(at, otherAt) > tolerance {
				return false
			}
		}
	}
	return true
}
