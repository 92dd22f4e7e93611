package values

import (
	"encoding/binary"
	"hash/crc64"
	"math"
)

// A payload of DUMP is one value in the format of Redis's RDB files: a type, the
// value, the version of the format and a CRC64 of all that.

func dumpCommands() []Command {
	return []Command{
		{Name: "dump", Arity: 2, Flags: "readonly", Since: "2.6.0", Run: dump},
		{Name: "restore", Arity: -4, Flags: "write denyoom", Since: "2.6.0", Run: restore},
	}
}

// The types of values that are written. Every version of Redis reads those but
// the last, a hash with the expiry of fields, which is of Redis 7.4.
const (
	rdbString         = 0
	rdbList           = 1
	rdbSet            = 2
	rdbHash           = 4
	rdbSortedSet      = 5 // with binary scores
	rdbExpiringHash   = 24
	rdbVersion        = 10
	rdbVersionExpiry  = 12
	rdbNewestVersion  = 12
	rdbFooter         = 10 // bytes of version and checksum
	errDumpPayload    = Error("ERR DUMP payload version or checksum are wrong")
	errDumpFormat     = Error("ERR Bad data format")
	errBusyKey        = Error("BUSYKEY Target key name already exists.")
	rdbLength14       = 0x40
	rdbLength32       = 0x80
	rdbLength64       = 0x81
	rdbEncoded        = 0xc0 // 0xc0 to 0xc2: an integer of 1, 2 or 4 bytes
	rdbEncodedLZF     = 0xc3
	reflectedJonesCRC = 0x95ac9329ac4bc9b5
)

// checksum is CRC-64-Jones with nothing inverted, unlike Go's.
func checksum(b []byte) uint64 {
	return ^crc64.Update(math.MaxUint64, crc64.MakeTable(reflectedJonesCRC), b)
}

func dump(c *Call) error {
	e := c.entry(c.Args[1])
	if e.Value == nil {
		c.Reply.Null()
		return nil
	}
	c.Reply.Bulk(string(Dump(e.Value)))
	return nil
}

// Dump returns the payload that DUMP gives for a value.
func Dump(v Value) []byte {
	var b []byte
	version := uint16(rdbVersion)
	switch v := v.(type) {
	case String:
		b = appendRDBString([]byte{rdbString}, string(v))
	case *List:
		b = appendRDBStrings([]byte{rdbList}, v.elements())
	case *Set:
		b = appendRDBStrings([]byte{rdbSet}, v.list())
	case *SortedSet:
		b = appendRDBLength([]byte{rdbSortedSet}, uint64(v.Len()))
		for _, m := range v.members {
			b = appendRDBString(b, m.Name)
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(m.Score))
		}
	case *Hash:
		if v.Expires() {
			version = rdbVersionExpiry
			b = v.appendExpiring([]byte{rdbExpiringHash})
			break
		}
		b = appendRDBLength([]byte{rdbHash}, uint64(v.Len()))
		for name, f := range v.fields.all() {
			b = appendRDBString(appendRDBString(b, name), f.value)
		}
	}
	b = binary.LittleEndian.AppendUint16(b, version)
	return binary.LittleEndian.AppendUint64(b, checksum(b))
}

// Expires reports whether a field has an expiry.
func (h *Hash) Expires() bool {
	for _, f := range h.fields.all() {
		if f.expiresAt != 0 {
			return true
		}
	}
	return false
}

// appendExpiring appends the earliest expiry, and then with each field its own
// relative to that, plus one; 0 for none.
func (h *Hash) appendExpiring(b []byte) []byte {
	first := int64(math.MaxInt64)
	for _, f := range h.fields.all() {
		if f.expiresAt != 0 {
			first = min(first, f.expiresAt)
		}
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(first))
	b = appendRDBLength(b, uint64(h.Len()))
	for name, f := range h.fields.all() {
		after := uint64(0)
		if f.expiresAt != 0 {
			after = uint64(f.expiresAt-first) + 1
		}
		b = appendRDBLength(b, after)
		b = appendRDBString(appendRDBString(b, name), f.value)
	}
	return b
}

func appendRDBStrings(b []byte, list []string) []byte {
	b = appendRDBLength(b, uint64(len(list)))
	for _, s := range list {
		b = appendRDBString(b, s)
	}
	return b
}

func appendRDBString(b []byte, s string) []byte {
	return append(appendRDBLength(b, uint64(len(s))), s...)
}

func appendRDBLength(b []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(b, byte(n))
	case n < 1<<14:
		return append(b, rdbLength14|byte(n>>8), byte(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, rdbLength32), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, rdbLength64), n)
}

// restoreOptions are the options of RESTORE. IDLETIME and FREQ are checked, and
// mean nothing here.
type restoreOptions struct {
	replace, absolute bool
}

func parseRestore(args [][]byte) (o restoreOptions, err error) {
	idle, frequency := false, false
	for i := 0; i < len(args); i++ {
		switch more := i+1 < len(args); {
		case is(args[i], "REPLACE"):
			o.replace = true
		case is(args[i], "ABSTTL"):
			o.absolute = true
		case is(args[i], "IDLETIME") && more && !frequency:
			i++
			n, err := integer(args[i])
			if err != nil {
				return o, err
			}
			if n < 0 {
				return o, Error("ERR Invalid IDLETIME value, must be >= 0")
			}
			idle = true
		case is(args[i], "FREQ") && more && !idle:
			i++
			n, err := integer(args[i])
			if err != nil {
				return o, err
			}
			if n < 0 || n > 255 {
				return o, Error("ERR Invalid FREQ value, must be >= 0 and <= 255")
			}
			frequency = true
		default:
			return o, ErrSyntax
		}
	}
	return o, nil
}

func restore(c *Call) error {
	o, err := parseRestore(c.Args[4:])
	if err != nil {
		return err
	}
	e := c.entry(c.Args[1])
	if e.Value != nil && !o.replace {
		return errBusyKey
	}
	at, err := integer(c.Args[2])
	if err != nil {
		return err
	}
	if at < 0 {
		return Error("ERR Invalid TTL value, must be >= 0")
	}
	v, err := Restore(c.Args[3])
	if err != nil {
		return err
	}
	if at != 0 && !o.absolute {
		at += min(c.Now, math.MaxInt64-at)
	}
	existed, changed := e.Value != nil, e.Changed
	if h, ok := v.(*Hash); ok {
		h.expire(c.Now)
	}
	e.replace(v)
	e.expire(at, c.Now)
	c.notifyRestored(existed, e)
	e.Changed = changed || existed || e.Value != nil
	c.ok()
	return nil
}

// notifyRestored names what RESTORE has done. A value in place of another is a new key.
func (c *Call) notifyRestored(existed bool, e *Entry) {
	e.created = e.Value != nil
	c.notifyStored(existed, e, GenericEvent, "restore", c.Args[1])
}

// sound reports whether the version and the checksum at the end of a payload are right.
// It has room for both.
func sound(payload []byte) bool {
	body := len(payload) - rdbFooter
	version := binary.LittleEndian.Uint16(payload[body:])
	return version <= rdbNewestVersion && binary.LittleEndian.Uint64(payload[body+2:]) == checksum(payload[:body+2])
}

// Restore reads a payload of DUMP, of this or of Redis up to 7.4. Its error is
// the reply. What it allocates is in proportion to the payload.
func Restore(payload []byte) (Value, error) {
	body := len(payload) - rdbFooter
	if body < 1 || !sound(payload) {
		return nil, errDumpPayload
	}
	r := &rdbReader{unpacker{rest: string(payload[1:body]), ok: true}}
	v := r.value(payload[0])
	if !r.ok || v == nil || v.Kind() != KindString && v.Len() == 0 {
		return nil, errDumpFormat
	}
	return v, nil
}
