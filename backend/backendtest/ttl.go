package backendtest

import (
	"errors"
	"math"
	"time"

	"github.com/howdah/howdah"
)

// clockSlack is how far the clocks of a store and of this process may differ
// on one machine: some servers read theirs once per round of their loop.
const clockSlack = 15 * time.Millisecond

const year = 365 * 24 * time.Hour

// shortTTL is the shortest TTL whose beginning and end can both be seen.
func (s *suite) shortTTL() time.Duration {
	if step := s.caps.TTLResolution.Value; step >= time.Second {
		return 3 * step
	}
	return 250 * time.Millisecond
}

// awaitExpiry writes a canary with the same TTL and waits for its end. What
// was written before it has then expired too, if it was to expire at all. One
// step more, because several servers' clocks need not tick together.
func (s *suite) awaitExpiry(ttl time.Duration) {
	s.Helper()
	s.set(s.key("canary"), "v", ttl+s.caps.TTLResolution.Value)
	s.awaitMiss(s.key("canary"))
}

func testExpiry(s *suite) {
	ttl := s.shortTTL()
	one, many, copied := s.key("one"), s.key("many"), s.key("copied")
	start := time.Now()
	s.set(one, "v", ttl)
	err := s.store.SetMany(s.ctx, []howdah.Item{{Key: many, Value: []byte("v")}, {Key: copied, Value: []byte("v")}}, ttl)
	if err != nil {
		s.Fatalf("SetMany: %v", err)
	}
	// A coarse clock may end an entry up to one step early, and one more if it
	// ticked late when the entry was stored.
	earliest := ttl - 2*s.caps.TTLResolution.Value - clockSlack
	for _, key := range []string{one, many, copied} {
		s.awaitMiss(key)
		if lived := time.Since(start); lived < earliest {
			s.Errorf("%q with a TTL of %v was gone after %v", key, ttl, lived)
		}
	}
	if found := s.getMany([]string{one, many}); len(found) != 0 {
		s.Errorf("GetMany found expired entries: %q", found)
	}
	s.set(one, "again", howdah.NoExpiry)
	s.wantValue(one, "again")
}

// testShortestTTL: a TTL below the store's resolution is rounded up. It is
// neither an error nor, as a zero would be, for ever.
func testShortestTTL(s *suite) {
	key := s.key("k")
	s.set(key, "v", time.Nanosecond)
	s.awaitMiss(key)
	s.set(key, "v", s.caps.TTLResolution.Value+time.Nanosecond)
	s.awaitMiss(key)
}

// testNoTTL: NoExpiry does not expire, and neither does the default, which is
// none in the stores that the suite is given.
func testNoTTL(s *suite) {
	s.set(s.key("never"), "v", howdah.NoExpiry)
	s.set(s.key("default"), "v", 0)
	err := s.store.SetMany(s.ctx, []howdah.Item{{Key: s.key("many"), Value: []byte("v")}}, 0)
	if err != nil {
		s.Fatalf("SetMany: %v", err)
	}
	s.awaitExpiry(s.shortTTL())
	for _, name := range []string{"never", "default", "many"} {
		s.wantValue(s.key(name), "v")
	}
}

func testOverwriteDropsTTL(s *suite) {
	ttl := s.shortTTL()
	s.set(s.key("set"), "old", ttl)
	s.set(s.key("default"), "old", ttl)
	s.set(s.key("many"), "old", ttl)
	s.set(s.key("shorter"), "old", howdah.NoExpiry)
	s.set(s.key("set"), "new", howdah.NoExpiry)
	s.set(s.key("default"), "new", 0)
	s.setMany([]howdah.Item{{Key: s.key("many"), Value: []byte("new")}})
	s.set(s.key("shorter"), "new", ttl)
	s.awaitExpiry(ttl)
	for _, name := range []string{"set", "default", "many"} {
		s.wantValue(s.key(name), "new")
	}
	s.wantMiss(s.key("shorter"))
}

// testLongTTL goes past every limit that a number of seconds is known to have:
// 30 days, 2038, the range of a duration.
func testLongTTL(s *suite) {
	for _, ttl := range []time.Duration{
		30 * 24 * time.Hour, 30*24*time.Hour + time.Second, 5 * year, 100 * year, math.MaxInt64 - 1,
	} {
		key := s.key(ttl.String())
		latest := s.caps.LatestExpiry.Value
		if !latest.IsZero() && time.Now().Add(ttl).After(latest) {
			err := s.store.Set(s.ctx, key, []byte("v"), ttl)
			s.wantError("Set with a TTL of "+ttl.String(), err, s.caps.LatestExpiry.Refusal)
			s.wantMiss(key)
			continue
		}
		s.set(key, "v", ttl)
		s.wantValue(key, "v")
	}
}

func testNegativeTTL(s *suite) {
	key := s.key("k")
	s.set(key, "kept", howdah.NoExpiry)
	for _, ttl := range []time.Duration{-1, -time.Second, math.MinInt64} {
		err := s.store.Set(s.ctx, key, []byte("v"), ttl)
		s.wantError("Set with a TTL of "+ttl.String(), err, howdah.ErrInvalidTTL)
		err = s.store.SetMany(s.ctx, []howdah.Item{{Key: key, Value: []byte("v")}}, ttl)
		if !errors.Is(err, howdah.ErrInvalidTTL) {
			s.Fatalf("SetMany with a TTL of %v: %v", ttl, err)
		}
	}
	s.wantValue(key, "kept")
}
