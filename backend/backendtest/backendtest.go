// Package backendtest is the conformance suite of howdah.Backend. A store is
// held to its Capabilities: what it says it can do must work, what it says it
// cannot do must be refused with the error it names.
//
//	func TestStore(t *testing.T) {
//		backendtest.Run(t, func(t *testing.T) howdah.Backend { return open(t) }, capabilities)
//	}
package backendtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/backend"
	"github.com/howdah/howdah/internal/test/await"
)

// suite is one run of a test: its store, what the store can do, and a context
// that ends with the test.
type suite struct {
	*testing.T
	store howdah.Backend
	caps  backend.Capabilities
	ctx   context.Context
}

// Run runs the suite. Open is called for each test and answers a store that
// the test closes; the stores may share their entries, because every test has
// keys of its own, but nobody else may write to them.
func Run(t *testing.T, open func(*testing.T) howdah.Backend, caps backend.Capabilities) {
	t.Helper()
	tests := []struct {
		name string
		run  func(*suite)
	}{
		{"Capabilities", testCapabilities},
		{"GetSetDelete", testGetSetDelete},
		{"EmptyValue", testEmptyValue},
		{"BinaryValue", testBinaryValue},
		{"LargeValues", testLargeValues},
		{"EmptyKey", testEmptyKey},
		{"BinaryKeys", testBinaryKeys},
		{"LongKeys", testLongKeys},
		{"SlicesAreTheCallers", testSlicesAreTheCallers},
		{"Many", testMany},
		{"ManyDuplicates", testManyDuplicates},
		{"ManyThousands", testManyThousands},
		{"ManyRefusedWhole", testManyRefusedWhole},
		{"ManyAtomic", testManyAtomic},
		{"Expiry", testExpiry},
		{"ShortestTTL", testShortestTTL},
		{"NoTTL", testNoTTL},
		{"OverwriteDropsTTL", testOverwriteDropsTTL},
		{"LongTTL", testLongTTL},
		{"NegativeTTL", testNegativeTTL},
		{"ContextEndedBefore", testContextEndedBefore},
		{"ContextEndsDuring", testContextEndsDuring},
		{"Concurrency", testConcurrency},
		{"Closed", testClosed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			store := open(t)
			t.Cleanup(func() {
				if err := store.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			test.run(&suite{T: t, store: store, caps: caps, ctx: t.Context()})
		})
	}
}

// key is a key of this test alone.
func (s *suite) key(name string) string { return s.Name() + ":" + name }

func (s *suite) set(key, value string, ttl time.Duration) {
	s.Helper()
	if err := s.store.Set(s.ctx, key, []byte(value), ttl); err != nil {
		s.Fatalf("Set(%.60q): %v", key, err)
	}
}

func (s *suite) wantValue(key, want string) {
	s.Helper()
	got, err := s.store.Get(s.ctx, key)
	if err != nil {
		s.Fatalf("Get(%.60q): %v", key, err)
	}
	if string(got) != want {
		s.Fatalf("Get(%.60q) = %.60q (%d bytes), want %.60q (%d bytes)", key, got, len(got), want, len(want))
	}
}

func (s *suite) wantMiss(key string) {
	s.Helper()
	if got, err := s.store.Get(s.ctx, key); !errors.Is(err, howdah.ErrMiss) {
		s.Fatalf("Get(%.60q) = %.60q, %v, want ErrMiss", key, got, err)
	}
}

// wantError fails unless err matches want and says more than it: which limit
// was crossed, or what to do.
func (s *suite) wantError(what string, err, want error) {
	s.Helper()
	switch {
	case err == nil:
		s.Fatalf("%s: no error, want one that matches %q", what, want)
	case !errors.Is(err, want):
		s.Fatalf("%s: error %q does not match %q", what, err, want)
	}
}

// awaitMiss waits until the key is gone.
func (s *suite) awaitMiss(key string) {
	s.Helper()
	await.True(s, fmt.Sprintf("%.60q expires", key), func() bool {
		_, err := s.store.Get(s.ctx, key)
		if err != nil && !errors.Is(err, howdah.ErrMiss) {
			s.Fatalf("Get(%.60q): %v", key, err)
		}
		return err != nil
	})
}

// testCapabilities holds a store to giving a reason for each limit, and to
// being described as the caller of Run describes it.
func testCapabilities(s *suite) {
	if own, known := backend.CapabilitiesOf(s.store); known && own != s.caps {
		s.Errorf("CapabilitiesOf(store) = %+v, want %+v", own, s.caps)
	}
	if s.caps.Store == "" {
		s.Error("Store has no name")
	}
	limit(s, "MaxKeyBytes", s.caps.MaxKeyBytes, s.caps.MaxKeyBytes.Value > 0, true)
	limit(s, "MaxValueBytes", s.caps.MaxValueBytes, s.caps.MaxValueBytes.Value > 0, true)
	limit(s, "TTLResolution", s.caps.TTLResolution, s.caps.TTLResolution.Value > 0, false)
	limit(s, "LatestExpiry", s.caps.LatestExpiry, true, !s.caps.LatestExpiry.Value.IsZero())
	limit(s, "EmptyKeys", s.caps.EmptyKeys, true, !s.caps.EmptyKeys.Value)
	limit(s, "BinaryKeys", s.caps.BinaryKeys, true, !s.caps.BinaryKeys.Value)
	for name, trait := range map[string]backend.Trait[bool]{
		"EmptyKeys": s.caps.EmptyKeys, "BinaryKeys": s.caps.BinaryKeys, "AtomicMany": s.caps.AtomicMany,
		"Shared": s.caps.Shared, "Persistent": s.caps.Persistent,
	} {
		if !trait.Value && trait.Reason == "" {
			s.Errorf("%s is false and has no Reason", name)
		}
	}
}

func limit[T any](s *suite, name string, trait backend.Trait[T], plausible, refused bool) {
	if !plausible {
		s.Errorf("%s is %v", name, trait.Value)
	}
	if refused && (trait.Reason == "" || trait.Refusal == nil) {
		s.Errorf("%s is a limit and lacks a Reason or a Refusal", name)
	}
}
