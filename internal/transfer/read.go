package transfer

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/resp"
	"github.com/howdah/howdah/internal/values"
)

const (
	partBytes = 4 << 20 // about how much of the source is in memory at once, for each stage
	partKeys  = 512
	// A collection that takes more memory in the source is read piece by piece, to learn
	// without much memory whether it is too large.
	dumpBytes = 32 << 20
	attempts  = 3 // at a key whose type changes meanwhile
)

// part is what was read of some keys.
type part struct {
	entries []Entry
	refused []Refusal
	gone    int // keys that were deleted or expired meanwhile
	skipped int // keys of a type that is not wanted
}

// reader reads the values of keys from a Redis server.
type reader struct {
	conn   *Conn
	cache  string // that the keys are meant for
	limits limits
	only   string // a type; "": any
	sizes  bool   // only the sizes are wanted: Value is not read, unless the size says too little
	now    func() int64

	noDump        bool // the server's DUMP is of a version that values.Restore does not read
	noFieldExpiry bool // fields of hashes do not expire there
}

// sought is a key whose type and size are known.
type sought struct {
	key     string
	kind    values.Kind
	size    int64
	unsized bool // the server does not tell what it takes
}

// page reads the values of keys, and hands them on in parts of bounded size.
func (r *reader) page(keys []string, emit func(part) error) error {
	for try := 1; len(keys) > 0; try++ {
		list, first, err := r.survey(keys)
		if err != nil {
			return err
		}
		keys = nil
		for first != nil || len(list) > 0 {
			var p part
			var changed []string
			if fit := slices.DeleteFunc(slices.Clone(list), unsure); r.sizes && len(fit) > 0 {
				p, list = sizesOf(fit), slices.DeleteFunc(list, func(s sought) bool { return !unsure(s) })
			} else {
				n := bounded(list)
				p, changed, err = r.values(list[:n], try == attempts)
				list = list[n:]
			}
			if err != nil {
				return err
			}
			if first != nil {
				p.refused, p.gone, p.skipped = append(first.refused, p.refused...), p.gone+first.gone, first.skipped
				first = nil
			}
			if err := emit(p); err != nil {
				return err
			}
			keys = append(keys, changed...)
		}
	}
	return nil
}

// sureBytes is the memory of a collection in the source that is small enough packed, too.
const sureBytes = fault.MaxCollectionBytes / 2

// unsure reports whether a value has to be read to learn whether it fits.
func unsure(s sought) bool {
	return s.kind != values.KindString && (s.unsized || s.size > sureBytes)
}

// bounded returns how many of the keys are read together.
func bounded(list []sought) int {
	size := int64(0)
	for i, s := range list {
		if size += s.size; i > 0 && (size > partBytes || i == partKeys) {
			return i
		}
	}
	return len(list)
}

// survey asks for the types and sizes of keys. p is what is known without their values.
func (r *reader) survey(keys []string) (list []sought, p *part, err error) {
	p = &part{}
	types, sizes := new(batch), new(batch)
	for _, key := range keys {
		types.add("TYPE", key)
	}
	replies, err := r.conn.exchange(types)
	if err != nil {
		return nil, nil, err
	}
	for i, reply := range replies {
		name := string(reply.Str)
		kind, known := kindOf(name)
		switch {
		case reply.Kind == resp.Error:
			p.refused = append(p.refused, r.refusal(keys[i], "", replyError(reply).Error()))
		case name == "none":
			p.gone++
		case r.only != "" && name != r.only:
			p.skipped++
		case !known:
			p.refused = append(p.refused, r.refusal(keys[i], name, reasonType))
		case kind == values.KindString:
			sizes.add("STRLEN", keys[i])
			list = append(list, sought{key: keys[i], kind: kind})
		default:
			sizes.add("MEMORY", "USAGE", keys[i])
			list = append(list, sought{key: keys[i], kind: kind})
		}
	}
	if replies, err = r.conn.exchange(sizes); err != nil {
		return nil, nil, err
	}
	kept := list[:0]
	for i, s := range list {
		s.size = replies[i].Int
		s.unsized = replies[i].Kind != resp.Integer
		limited := s.size
		if s.kind != values.KindString {
			limited = 0 // in memory it takes more than packed
		}
		if reason := r.limits.refuse(len(s.key), s.kind, limited); reason != "" {
			p.refused = append(p.refused, r.refusal(s.key, s.kind.String(), reason).oversize(r.limits, len(s.key), s.kind, s.size))
			continue
		}
		kept = append(kept, s)
	}
	return kept, p, nil
}

func (r *reader) refusal(key, kind, reason string) Refusal {
	f := Refusal{Cache: r.cache, Type: kind, Reason: reason}
	f.Key, f.Key64 = textOr64(key)
	return f
}

// sizesOf is the part of a dry run: entries without values.
func sizesOf(list []sought) (p part) {
	for _, s := range list {
		p.entries = append(p.entries, Entry{Key: s.key, Kind: s.kind, bytes: s.size})
	}
	return p
}

// values reads keys. changed are those whose type has changed since it was asked for; the
// last attempt refuses them.
func (r *reader) values(list []sought, last bool) (p part, changed []string, err error) {
	b := new(batch)
	for _, s := range list {
		b.add("PTTL", s.key)
		switch {
		case s.kind == values.KindString:
			b.add("GET", s.key)
		case r.dumps(s):
			b.add("DUMP", s.key)
		default:
			b.add("TYPE", s.key)
		}
	}
	replies, err := r.conn.exchange(b)
	if err != nil {
		return p, nil, err
	}
	now := r.now()
	for i, s := range list {
		left, answer := replies[2*i], replies[2*i+1]
		e := Entry{Key: s.key, Kind: s.kind, ExpiresAt: deadline(now, left.Int)}
		outcome := ""
		switch {
		case left.Kind != resp.Integer:
			outcome = replyText(left)
		case left.Int == -2 || left.Int == 0 || answer.Kind == resp.Null:
			p.gone++
			continue
		case answer.Kind == resp.Error && strings.HasPrefix(string(answer.Str), "WRONGTYPE") && !last:
			changed = append(changed, s.key)
			continue
		case s.kind == values.KindString && answer.Kind == resp.Bulk:
			e.Value = answer.Str
		case s.kind != values.KindString:
			var gone bool
			if outcome, gone, err = r.collection(&e, s, answer); err != nil {
				return p, nil, err
			}
			if gone {
				p.gone++
				continue
			}
		default:
			outcome = replyText(answer)
		}
		size := int64(len(e.Value))
		if outcome == "" {
			outcome = r.limits.refuse(len(e.Key), e.Kind, size)
		} else {
			size = s.size
		}
		if outcome != "" {
			p.refused = append(p.refused, r.refusal(s.key, s.kind.String(), outcome).oversize(r.limits, len(s.key), s.kind, size))
			continue
		}
		if e.bytes = s.size; r.sizes {
			e.Value = nil
		}
		p.entries = append(p.entries, e)
	}
	return p, changed, nil
}

// replyText is why a reply is not what was asked for.
func replyText(reply resp.Reply) string {
	if err := replyError(reply); err != nil {
		return err.Error()
	}
	return "the source answers with " + strconv.QuoteRune(rune(reply.Kind))
}

// dumps reports whether a collection is read by DUMP.
func (r *reader) dumps(s sought) bool { return !r.noDump && !s.unsized && s.size <= dumpBytes }

// collection reads the value of a collection from the answer to DUMP, or piece by piece. refused
// says why it cannot be stored.
func (r *reader) collection(e *Entry, s sought, answer resp.Reply) (refused string, gone bool, err error) {
	if answer.Kind == resp.Bulk {
		value, err := values.Restore(answer.Str)
		if err == nil {
			return r.pack(e, value)
		}
		// A newer encoding, or one of a module. The next keys of this server have it too.
		r.noDump = true
	}
	value, reply, err := r.pieces(s.key, s.kind)
	switch {
	case err != nil:
		return "", false, err
	case reply != "":
		return reply, false, nil
	case value == nil:
		return "", true, nil
	}
	return r.pack(e, value)
}

// pack makes a value that of an entry, without the fields that have expired.
func (r *reader) pack(e *Entry, value values.Value) (refused string, gone bool, err error) {
	entry := values.Entry{Value: value}
	entry.Expire(r.now())
	if entry.Value == nil {
		return "", true, nil
	}
	e.Kind, e.Value = entry.Value.Kind(), values.Encode(nil, entry.Value)
	return "", false, nil
}

// clock returns a clock that shows the time of another, in milliseconds since 1970.
func clock(now time.Time) func() int64 {
	began := time.Now()
	return func() int64 { return now.Add(time.Since(began)).UnixMilli() }
}
