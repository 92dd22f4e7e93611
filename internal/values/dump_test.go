package values_test

import (
	"encoding/binary"
	"hash/crc64"
	"testing"

	"github.com/howdah/howdah/internal/values"
)

// sealed appends the version and the checksum to a payload.
func sealed(body string, version uint16) string {
	b := binary.LittleEndian.AppendUint16([]byte(body), version)
	sum := ^crc64.Update(^uint64(0), crc64.MakeTable(0x95ac9329ac4bc9b5), b)
	return string(binary.LittleEndian.AppendUint64(b, sum))
}

// FuzzRestore reads any payload whose checksum is right: a value or an error comes
// out, at a cost in proportion to the payload, and a value survives being dumped.
func FuzzRestore(f *testing.F) {
	for _, body := range []string{
		"\x00\x03abc", "\x00\xc1\x18\xfc", "\x00\xc3\x04\x0a\x00a\xe0\x00\x00", "\x01\x02\x01a\x01b", "\x04\x01\x01a\x01b", "\x02\x01\x01a",
		"\x05\x01\x01a\x00\x00\x00\x00\x00\x00\xf0\x3f", "\x03\x01\x01a\x011", "\x0b\x0a\x02\x00\x00\x00\x01\x00\x00\x00\x05\x00",
		"\x0a\x17\x17\x00\x00\x00\x12\x00\x00\x00\x03\x00\x00\xc0\x01\x00\x04\xc0\x02\x00\x04\xc0\x03\x00\xff",
		"\x10\x0d\x0d\x00\x00\x00\x02\x00\x81a\x02\x81b\x02\xff", "\x12\x01\x02\x0d\x0d\x00\x00\x00\x02\x00\x81a\x02\x81b\x02\xff", "\x12\x01\x01\x01x",
		"\x18\x01\x00\x00\x00\x00\x00\x00\x00\x01\x01\x01a\x01b",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		payload := []byte(sealed(body, 10))
		var v values.Value
		var err error
		atMost(t, 1000, len(body), func() { v, err = values.Restore(payload) })
		if err != nil {
			return
		}
		again, err := values.Restore(values.Dump(v))
		if err != nil || again.Kind() != v.Kind() || again.Len() != v.Len() || string(values.Dump(again)) != string(values.Dump(v)) {
			t.Fatalf("%q does not survive: %v", body, err)
		}
		if w, err := values.Decode(v.Kind(), values.Encode(nil, v)); err != nil || w.Len() != v.Len() {
			t.Fatalf("%q does not survive packing: %v", body, err)
		}
	})
}

func TestRestore(t *testing.T) {
	t.Parallel()
	s := newStore(t, 1)
	s.words("HSET h a 1 b 2 c 3")
	s.words("HPEXPIRE h 5000 FIELDS 1 a")
	s.words("HPEXPIRE h 7000 FIELDS 1 b")
	payload := string(values.Dump(s.Entry([]byte("h")).Value))
	restore := func(key, ttl string, rest ...string) string {
		return show(s.do(append([]string{"RESTORE", key, ttl, payload}, rest...)...))
	}
	for _, test := range []struct{ got, want string }{
		{restore("g", "0"), "OK"},
		{show(s.words("HPTTL g FIELDS 3 a b c")), "[5000 7000 -1]"},
		{restore("g", "0"), "-BUSYKEY Target key name already exists."},
		{restore("g", "-1", "REPLACE"), "-ERR Invalid TTL value, must be >= 0"},
		{restore("g", "x", "REPLACE"), "-ERR value is not an integer or out of range"},
		{restore("g", "0", "REPLACE", "IDLETIME", "-1"), "-ERR Invalid IDLETIME value, must be >= 0"},
		{restore("g", "0", "REPLACE", "FREQ", "256"), "-ERR Invalid FREQ value, must be >= 0 and <= 255"},
		{restore("g", "0", "REPLACE", "FREQ", "1", "IDLETIME", "1"), "-ERR syntax error"},
		{restore("g", "1000", "REPLACE"), "OK"},
		{formatInt(s.Entry([]byte("g")).ExpiresAt - s.now), "1000"},
		{restore("g", "1", "REPLACE", "ABSTTL"), "OK"},
		{show(s.words("HLEN g")), "0"}, // in the past
		{show(s.do("RESTORE", "x", "0", payload[:len(payload)-1]+"!")), "-ERR DUMP payload version or checksum are wrong"},
		{show(s.do("RESTORE", "x", "0", "short")), "-ERR DUMP payload version or checksum are wrong"},
		{show(s.do("RESTORE", "x", "0", sealed("\x00\x01a", 13))), "-ERR DUMP payload version or checksum are wrong"},
		{show(s.do("RESTORE", "x", "0", sealed("\x63", 10))), "-ERR Bad data format"},
		{show(s.words("DUMP x")), "nil"},
	} {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
}

// TestExpiringListpack reads a hash with the expiry of fields as Redis 7.4 packs
// a small one: field, value and expiry in turn, 0 for none.
func TestExpiringListpack(t *testing.T) {
	t.Parallel()
	s := newStore(t, 1)
	at := s.now + 5000
	list := []byte("\x00\x00\x00\x00\x06\x00")
	list = append(list, "\x81a\x02\x01\x01\xf4"...)
	list = binary.LittleEndian.AppendUint64(list, uint64(at))
	list = append(list, "\x09\x81b\x02\x02\x01\x00\x01\xff"...)
	binary.LittleEndian.PutUint32(list, uint32(len(list)))
	body := binary.LittleEndian.AppendUint64([]byte{25}, uint64(at))
	body = append(append(body, byte(len(list))), list...)
	if got := show(s.do("RESTORE", "h", "0", sealed(string(body), 12))); got != "OK" {
		t.Fatal(got)
	}
	dialogue{{"HGETALL h", "[a 1 b 2]"}, {"HPTTL h FIELDS 2 a b", "[5000 -1]"}}.run(t, s)
}
