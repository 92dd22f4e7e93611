package backendtest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/howdah/howdah"
)

func testGetSetDelete(s *suite) {
	key := s.key("k")
	s.wantMiss(key)
	s.set(key, "one", howdah.NoExpiry)
	s.wantValue(key, "one")
	s.set(key, "two", howdah.NoExpiry)
	s.wantValue(key, "two")
	for range 2 { // the second time it is absent
		if err := s.store.Delete(s.ctx, key); err != nil {
			s.Fatalf("Delete: %v", err)
		}
		s.wantMiss(key)
	}
	s.set(key, "three", howdah.NoExpiry)
	s.wantValue(key, "three")
}

func testEmptyValue(s *suite) {
	for name, value := range map[string][]byte{"empty": {}, "nil": nil} {
		key := s.key(name)
		if err := s.store.Set(s.ctx, key, value, howdah.NoExpiry); err != nil {
			s.Fatalf("Set of an %s value: %v", name, err)
		}
		s.wantValue(key, "")
		found, err := s.store.GetMany(s.ctx, []string{key})
		if value, ok := found[key]; err != nil || !ok || len(value) != 0 {
			s.Fatalf("GetMany of an empty value = %q, %v", found, err)
		}
	}
}

// allBytes holds every byte, and what text protocols stumble over.
func allBytes() string {
	var b strings.Builder
	for c := range 256 {
		b.WriteByte(byte(c))
	}
	return b.String() + "\r\nEND\r\n\x00\xff\xfe$-1\r\n"
}

func testBinaryValue(s *suite) {
	s.set(s.key("k"), allBytes(), howdah.NoExpiry)
	s.wantValue(s.key("k"), allBytes())
}

func testLargeValues(s *suite) {
	key := s.key("k")
	max := s.caps.MaxValueBytes.Value
	for _, size := range []int{64 << 10, 1<<20 - 1, 1 << 20, max} {
		if size > max || size > 2<<20 {
			continue // no store is asked to keep its tens of megabytes
		}
		value := strings.Repeat("0123456789abcdef", size/16+1)[:size]
		s.set(key, value, howdah.NoExpiry)
		s.wantValue(key, value)
	}
	s.set(key, "kept", howdah.NoExpiry)
	tooLarge := make([]byte, max+1)
	s.wantError("Set of a value over the limit",
		s.store.Set(s.ctx, key, tooLarge, howdah.NoExpiry), s.caps.MaxValueBytes.Refusal)
	s.wantError("SetMany of a value over the limit",
		s.store.SetMany(s.ctx, []howdah.Item{{Key: key, Value: tooLarge}}, howdah.NoExpiry), s.caps.MaxValueBytes.Refusal)
	s.wantValue(key, "kept")
}

func testEmptyKey(s *suite) {
	if !s.caps.EmptyKeys.Value {
		s.wantKeyRefused("", s.caps.EmptyKeys.Refusal)
		return
	}
	s.roundTrip("")
	if err := s.store.Delete(s.ctx, ""); err != nil {
		s.Fatalf("Delete of the empty key: %v", err)
	}
	s.wantMiss("")
}

func testBinaryKeys(s *suite) {
	keys := []string{
		s.key("a b"), s.key("line\r\nbreak"), s.key("nul\x00"), s.key("tab\t"),
		s.key("del\x7f"), " " + s.key(""), s.key("") + "\n", "\x00" + s.key(""),
	}
	if !s.caps.BinaryKeys.Value {
		for _, key := range keys {
			s.wantKeyRefused(key, s.caps.BinaryKeys.Refusal)
		}
	} else {
		for _, key := range append(keys, s.key(allBytes())) {
			s.roundTrip(key)
		}
	}
	// Bytes over 127, text or not, every store keeps apart.
	s.roundTrip(s.key("käse-象"))
	s.roundTrip(s.key("\xff\xfe"))
	s.set(s.key("\xff"), "ff", howdah.NoExpiry)
	s.set(s.key("\xfe"), "fe", howdah.NoExpiry)
	s.wantValue(s.key("\xff"), "ff")
}

func testLongKeys(s *suite) {
	max := s.caps.MaxKeyBytes.Value
	long := s.key(strings.Repeat("k", max))[:max]
	sibling := long[:max-1] + "!" // differs in its last byte alone
	s.roundTrip(long)
	s.wantMiss(sibling)
	s.set(sibling, "sibling", howdah.NoExpiry)
	s.roundTrip(long)
	s.wantValue(sibling, "sibling")
	s.wantKeyRefused(long+"k", s.caps.MaxKeyBytes.Refusal)
}

// roundTrip stores under a key by both ways and reads by both ways.
func (s *suite) roundTrip(key string) {
	s.Helper()
	for i, set := range []func(string, []byte) error{
		func(key string, value []byte) error { return s.store.Set(s.ctx, key, value, howdah.NoExpiry) },
		func(key string, value []byte) error {
			return s.store.SetMany(s.ctx, []howdah.Item{{Key: key, Value: value}}, howdah.NoExpiry)
		},
	} {
		value := fmt.Appendf(nil, "value %d", i)
		if err := set(key, value); err != nil {
			s.Fatalf("storing under %.60q (%d bytes): %v", key, len(key), err)
		}
		s.wantValue(key, string(value))
		found, err := s.store.GetMany(s.ctx, []string{key})
		if err != nil || len(found) != 1 || !bytes.Equal(found[key], value) {
			s.Fatalf("GetMany(%.60q) = %q, %v", key, found, err)
		}
	}
}

// wantKeyRefused holds every method to refusing the key: reads and deletes
// too, so that a wrong key is an error and not a miss.
func (s *suite) wantKeyRefused(key string, want error) {
	s.Helper()
	_, err := s.store.Get(s.ctx, key)
	s.wantError(fmt.Sprintf("Get(%.60q)", key), err, want)
	s.wantError(fmt.Sprintf("Set(%.60q)", key), s.store.Set(s.ctx, key, []byte("v"), howdah.NoExpiry), want)
	s.wantError(fmt.Sprintf("Delete(%.60q)", key), s.store.Delete(s.ctx, key), want)
	_, err = s.store.GetMany(s.ctx, []string{s.key("fine"), key})
	s.wantError(fmt.Sprintf("GetMany(%.60q)", key), err, want)
	s.wantError(fmt.Sprintf("SetMany(%.60q)", key),
		s.store.SetMany(s.ctx, []howdah.Item{{Key: s.key("fine")}, {Key: key}}, howdah.NoExpiry), want)
	s.wantMiss(s.key("fine"))
}

// testSlicesAreTheCallers holds both sides to keeping no slice: values of one
// byte and of none too, which some clients answer from shared memory.
func testSlicesAreTheCallers(s *suite) {
	for _, value := range []string{"x", "value", strings.Repeat("long ", 1000)} {
		key := s.key(fmt.Sprint(len(value)))
		mine := []byte(value)
		if err := s.store.Set(s.ctx, key, mine, howdah.NoExpiry); err != nil {
			s.Fatalf("Set: %v", err)
		}
		scribble(mine)
		s.wantValue(key, value)

		items := []howdah.Item{{Key: key, Value: []byte(value)}}
		if err := s.store.SetMany(s.ctx, items, howdah.NoExpiry); err != nil {
			s.Fatalf("SetMany: %v", err)
		}
		scribble(items[0].Value)
		items[0].Key = "another"
		s.wantValue(key, value)

		got, err := s.store.Get(s.ctx, key)
		if err != nil {
			s.Fatalf("Get: %v", err)
		}
		scribble(append(got, "appended"...))
		scribble(got)
		found, err := s.store.GetMany(s.ctx, []string{key})
		if err != nil {
			s.Fatalf("GetMany: %v", err)
		}
		scribble(found[key])
		s.wantValue(key, value)
	}
}

func scribble(b []byte) {
	for i := range b {
		b[i] ^= 0xff
	}
}
