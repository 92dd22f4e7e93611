package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/seed"
)

// each calls every method with the key and answers its errors by name.
func (s *suite) each(ctx context.Context, key string) map[string]error {
	_, getErr := s.store.Get(ctx, key)
	_, getManyErr := s.store.GetMany(ctx, []string{key})
	return map[string]error{
		"Get":     getErr,
		"GetMany": getManyErr,
		"Set":     s.store.Set(ctx, key, []byte("new"), howdah.NoExpiry),
		"SetMany": s.store.SetMany(ctx, []howdah.Item{{Key: key, Value: []byte("new")}}, howdah.NoExpiry),
		"Delete":  s.store.Delete(ctx, key),
	}
}

func testContextEndedBefore(s *suite) {
	key := s.key("k")
	s.set(key, "kept", howdah.NoExpiry)
	cancelled, cancel := context.WithCancel(s.ctx)
	cancel()
	expired, cancel := context.WithDeadline(s.ctx, time.Now().Add(-time.Second))
	defer cancel()
	for name, err := range s.each(cancelled, key) {
		s.wantError(name+" with a cancelled context", err, context.Canceled)
	}
	for name, err := range s.each(expired, key) {
		s.wantError(name+" with an expired context", err, context.DeadlineExceeded)
	}
	s.wantValue(key, "kept")
}

// testContextEndsDuring ends contexts at any moment of a call. A call either
// succeeds or answers the context's error, and the next one finds its store
// in order.
func testContextEndsDuring(s *suite) {
	random := seed.Rand(s)
	var items []howdah.Item
	var keys []string
	for i := range 500 {
		keys = append(keys, s.key(fmt.Sprint(i)))
		items = append(items, howdah.Item{Key: keys[i], Value: bytes.Repeat([]byte{byte('a' + i%26)}, 1000)})
	}
	s.setMany(items)
	for range 40 {
		ctx, cancel := context.WithCancel(s.ctx)
		timer := time.AfterFunc(time.Duration(random.IntN(5000))*time.Microsecond, cancel)
		found, err := s.store.GetMany(ctx, keys)
		if err != nil && !errors.Is(err, context.Canceled) {
			s.Errorf("GetMany, cancelled: %v", err)
		}
		if err == nil && len(found) != len(keys) {
			s.Errorf("GetMany without an error found %d of %d keys", len(found), len(keys))
		}
		if err := s.store.SetMany(ctx, items, howdah.NoExpiry); err != nil && !errors.Is(err, context.Canceled) {
			s.Errorf("SetMany, cancelled: %v", err)
		}
		if _, err := s.store.Get(ctx, keys[0]); err != nil && !errors.Is(err, context.Canceled) {
			s.Errorf("Get, cancelled: %v", err)
		}
		timer.Stop()
		cancel()
	}
	for key, value := range s.getMany(keys) {
		for i := range keys {
			if keys[i] == key && !bytes.Equal(value, items[i].Value) {
				s.Fatalf("%q holds a value that is not its own", key)
			}
		}
	}
}

// testConcurrency lets many callers share a few keys. Each value names its
// key, so that a reply given to the wrong caller shows.
func testConcurrency(s *suite) {
	const callers, rounds, shared = 16, 60, 8
	seed := seed.Of(s)
	var wg sync.WaitGroup
	for caller := range callers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(caller)))
			for round := range rounds {
				key := s.key(fmt.Sprint("shared", random.IntN(shared)))
				own := s.key(fmt.Sprint("own", caller))
				value := fmt.Appendf(nil, "%s|%d|%d", key, caller, round)
				if err := s.mixedCalls(random, key, own, value); err != nil {
					s.Errorf("caller %d, round %d: %v", caller, round, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func (s *suite) mixedCalls(random *rand.Rand, key, own string, value []byte) error {
	foreign := func(key string, value []byte) error {
		if !bytes.HasPrefix(value, []byte(key+"|")) {
			return fmt.Errorf("%q holds %q, the value of another key", key, value)
		}
		return nil
	}
	switch random.IntN(4) {
	case 0:
		if err := s.store.Set(s.ctx, key, value, howdah.NoExpiry); err != nil {
			return err
		}
	case 1:
		if err := s.store.SetMany(s.ctx, []howdah.Item{{Key: key, Value: value}}, time.Hour); err != nil {
			return err
		}
	case 2:
		if err := s.store.Delete(s.ctx, key); err != nil {
			return err
		}
	case 3:
		found, err := s.store.GetMany(s.ctx, []string{key})
		if err != nil {
			return err
		}
		if value, ok := found[key]; ok {
			return foreign(key, value)
		}
	}
	// What one caller writes, it reads: nobody else writes own.
	mine := append([]byte(own+"|"), value...)
	if err := s.store.Set(s.ctx, own, mine, howdah.NoExpiry); err != nil {
		return err
	}
	if got, err := s.store.Get(s.ctx, own); err != nil || !bytes.Equal(got, mine) {
		return fmt.Errorf("Get(%q) after Set = %q, %v, want %q", own, got, err, mine)
	}
	got, err := s.store.Get(s.ctx, key)
	if errors.Is(err, howdah.ErrMiss) {
		return nil
	}
	if err != nil {
		return err
	}
	return foreign(key, got)
}

func testClosed(s *suite) {
	s.set(s.key("k"), "v", howdah.NoExpiry)
	for range 2 {
		if err := s.store.Close(); err != nil {
			s.Fatalf("Close: %v", err)
		}
		for name, err := range s.each(s.ctx, s.key("k")) {
			s.wantError(name+" after Close", err, howdah.ErrClosed)
		}
	}
}
