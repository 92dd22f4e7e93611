package values

import "iter"

// Hash maps fields to values, in the order in which the fields were added. A
// field may have an expiry of its own.
type Hash struct {
	fields dictionary[hashField]
	next   int64 // no field expires before; 0: none expires
}

type hashField struct {
	value     string
	expiresAt int64 // milliseconds since 1970; 0: never
}

// Kind returns [KindHash].
func (*Hash) Kind() Kind { return KindHash }

// Len returns the number of fields. A nil hash has none.
func (h *Hash) Len() int {
	if h == nil {
		return 0
	}
	return h.fields.live
}

// NextExpiry returns a time before which no field expires, in milliseconds since 1970, 0 if
// none does.
func (h *Hash) NextExpiry() int64 { return h.next }

// LastExpiry returns when the last field expires, in milliseconds since 1970,
// and 0 if at least one never does.
func (h *Hash) LastExpiry() int64 {
	last := int64(0)
	for _, f := range h.fields.all() {
		if f.expiresAt == 0 {
			return 0
		}
		last = max(last, f.expiresAt)
	}
	return last
}

func (h *Hash) find(field string) *hashField {
	if h == nil {
		return nil
	}
	return h.fields.find(field)
}

// set stores a value and takes the expiry of the field away. It reports whether
// the field is new.
func (h *Hash) set(field, value string) bool {
	if f := h.fields.find(field); f != nil {
		*f = hashField{value: value}
		return false
	}
	h.fields.insert(field, hashField{value: value})
	return true
}

// setExpiry gives a field of the hash an expiry, 0 for none.
func (h *Hash) setExpiry(f *hashField, at int64) {
	f.expiresAt = at
	if at != 0 && (h.next == 0 || at < h.next) {
		h.next = at
	}
}

// expire removes the fields that have expired, and reports whether there were any.
func (h *Hash) expire(now int64) bool {
	if h.next == 0 || h.next > now {
		return false
	}
	h.next = 0
	var expired []string
	for field, f := range h.fields.all() {
		switch {
		case f.expiresAt == 0:
		case f.expiresAt <= now:
			expired = append(expired, field)
		case h.next == 0 || f.expiresAt < h.next:
			h.next = f.expiresAt
		}
	}
	for _, field := range expired {
		h.fields.remove(field)
	}
	return len(expired) > 0
}

// hash returns the entry and the hash of a key, nil if there is none.
func (c *Call) hash(key []byte) (*Entry, *Hash, error) { return lookup[*Hash](c, key) }

// hashToWrite is hash, with an empty one in place of nil.
func (c *Call) hashToWrite(key []byte) (*Entry, *Hash, error) {
	e, h, err := c.hash(key)
	if h == nil {
		h = &Hash{}
	}
	return e, h, err
}

// Get returns the value of a field. A nil hash has none.
func (h *Hash) Get(field string) (value string, ok bool) {
	f := h.find(field)
	if f == nil {
		return "", false
	}
	return f.value, true
}

// All ranges over the fields and their values, in the order in which the fields
// were added. The hash must not change meanwhile. A nil hash has none.
func (h *Hash) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		if h == nil {
			return
		}
		for field, f := range h.fields.all() {
			if !yield(field, f.value) {
				return
			}
		}
	}
}

// Set stores a value and takes the expiry of the field away. It reports whether
// the field is new.
func (h *Hash) Set(field, value string) bool { return h.set(field, value) }

// Remove reports whether the field was there.
func (h *Hash) Remove(field string) bool { return h.fields.remove(field) }

// Increment adds to the decimal integer of a field, which counts as 0 if it is
// absent, and returns the sum. The field keeps its expiry. Errors: [ErrHashInteger],
// [ErrOverflow].
func (h *Hash) Increment(field string, by int64) (sum int64, err error) {
	f, n := h.find(field), int64(0)
	if f != nil {
		var ok bool
		if n, ok = parseInt(f.value); !ok {
			return 0, ErrHashInteger
		}
	}
	if addOverflows(n, by) {
		return 0, ErrOverflow
	}
	n += by
	h.update(f, field, formatInt(n))
	return n, nil
}

// FieldExpiry returns when a field expires, in milliseconds since 1970, 0 for never.
func (h *Hash) FieldExpiry(field string) (at int64, ok bool) {
	f := h.find(field)
	if f == nil {
		return 0, false
	}
	return f.expiresAt, true
}

// SetFieldExpiry lets a field expire at a time in milliseconds since 1970, 0 for
// never. It reports whether the field was there.
func (h *Hash) SetFieldExpiry(field string, at int64) bool {
	f := h.find(field)
	if f != nil {
		h.setExpiry(f, min(at, maxFieldExpiry))
	}
	return f != nil
}
