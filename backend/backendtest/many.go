package backendtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/seed"
)

func (s *suite) setMany(items []howdah.Item) {
	s.Helper()
	if err := s.store.SetMany(s.ctx, items, howdah.NoExpiry); err != nil {
		s.Fatalf("SetMany of %d items: %v", len(items), err)
	}
}

func (s *suite) getMany(keys []string) map[string][]byte {
	s.Helper()
	found, err := s.store.GetMany(s.ctx, keys)
	if err != nil {
		s.Fatalf("GetMany of %d keys: %v", len(keys), err)
	}
	return found
}

func testMany(s *suite) {
	if found := s.getMany(nil); len(found) != 0 {
		s.Fatalf("GetMany of no keys = %q", found)
	}
	s.setMany(nil)
	s.set(s.key("a"), "old", howdah.NoExpiry)
	s.setMany([]howdah.Item{{Key: s.key("a"), Value: []byte("1")}, {Key: s.key("b"), Value: []byte("2")}})
	found := s.getMany([]string{s.key("b"), s.key("absent"), s.key("a")})
	want := map[string][]byte{s.key("a"): []byte("1"), s.key("b"): []byte("2")}
	if !maps.EqualFunc(found, want, func(a, b []byte) bool { return string(a) == string(b) }) {
		s.Fatalf("GetMany = %q, want %q", found, want)
	}
	if _, ok := found[s.key("absent")]; ok {
		s.Fatal("a miss is in the map")
	}
}

func testManyDuplicates(s *suite) {
	a, b := s.key("a"), s.key("b")
	for range 20 { // an order left to chance would show
		s.setMany([]howdah.Item{
			{Key: a, Value: []byte("first")}, {Key: b, Value: []byte("b")},
			{Key: a, Value: []byte("second")}, {Key: a, Value: []byte("last")},
		})
		s.wantValue(a, "last")
	}
	found := s.getMany([]string{a, a, b, a})
	if len(found) != 2 || string(found[a]) != "last" || string(found[b]) != "b" {
		s.Fatalf("GetMany with duplicates = %q", found)
	}
}

// testManyThousands asks for 10,000 keys in any order: a third are there,
// a third are not, a third were named before.
func testManyThousands(s *suite) {
	const asked = 10_000
	random := seed.Rand(s)

	var items []howdah.Item
	var keys []string
	want := make(map[string]string)
	for i := range asked / 3 {
		key, value := s.key(fmt.Sprint("there", i)), fmt.Sprint("value ", i)
		items = append(items, howdah.Item{Key: key, Value: []byte(value)})
		want[key] = value
		keys = append(keys, key, s.key(fmt.Sprint("absent", i)))
	}
	for len(keys) < asked {
		keys = append(keys, keys[random.IntN(len(keys))])
	}
	random.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	s.setMany(items)
	found := s.getMany(keys)
	if len(found) != len(want) {
		s.Errorf("GetMany found %d keys, want %d", len(found), len(want))
	}
	for key, value := range want {
		if string(found[key]) != value {
			s.Fatalf("GetMany: %q is %q, want %q", key, found[key], value)
		}
	}
}

// testManyRefusedWhole: one item that is refused keeps its neighbours out.
func testManyRefusedWhole(s *suite) {
	good := s.key("good")
	long := strings.Repeat("k", s.caps.MaxKeyBytes.Value+1)
	err := s.store.SetMany(s.ctx, []howdah.Item{{Key: good, Value: []byte("v")}, {Key: long}}, howdah.NoExpiry)
	s.wantError("SetMany with a key over the limit", err, s.caps.MaxKeyBytes.Refusal)
	s.wantMiss(good)
	err = s.store.SetMany(s.ctx, []howdah.Item{{Key: good, Value: []byte("v")}}, -1)
	s.wantError("SetMany with a negative TTL", err, howdah.ErrInvalidTTL)
	s.wantMiss(good)
}

// testManyAtomic reads pairs that are only ever written together. A store
// that does not promise AtomicMany must still never mix up a value.
func testManyAtomic(s *suite) {
	a, b := s.key("a"), s.key("b")
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	var writers sync.WaitGroup
	for writer := range 2 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				value := fmt.Appendf(nil, "%d-%d", writer, i)
				err := s.store.SetMany(ctx, []howdah.Item{{Key: a, Value: value}, {Key: b, Value: value}}, howdah.NoExpiry)
				if err != nil && !errors.Is(err, context.Canceled) {
					s.Errorf("SetMany: %v", err)
					return
				}
			}
		})
	}
	for range 300 {
		found := s.getMany([]string{a, b})
		torn := string(found[a]) != string(found[b])
		if torn && s.caps.AtomicMany.Value {
			s.Errorf("GetMany saw half of a SetMany: %q and %q", found[a], found[b])
			break
		}
	}
	stop()
	writers.Wait()
}
