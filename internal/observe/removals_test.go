package observe

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

var someone = Caller{Client: &Client{Door: DoorRedis, Name: "worker", Library: "redis-py", Version: "5.0", Address: "10.0.0.1:99"}, Command: "del"}

// keysOf are the keys of removals, "*" where there is none.
func keysOf(removals []Removal) (keys []string) {
	for _, r := range removals {
		if r.Key == nil {
			keys = append(keys, "*")
		} else {
			keys = append(keys, string(r.Key))
		}
	}
	return keys
}

func TestRemovalsAreKeptWithWhoMadeThem(t *testing.T) {
	t.Parallel()
	r := NewRemovals(10)
	key, before := []byte("a:1"), time.Now()
	r.Key(someone, "db0", Deleted, key, false)
	key[0] = 'x' // it belongs to its caller
	r.Key(Caller{}, "db1", Expired, nil, true)
	got, after := r.Recent(Filter{}), time.Now()
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	for i := range got {
		if at := got[i].Time; at.Before(before) || at.After(after) {
			t.Errorf("it was at %v, and not from %v to %v", at, before, after)
		}
		got[i].Time = time.Time{}
	}
	want := []Removal{
		{Cache: "db1", Reason: Expired, Key: []byte{}, Count: 1, Unsure: true, Client: Client{Door: DoorGo}},
		{Cache: "db0", Reason: Deleted, Key: []byte("a:1"), KeyBytes: 3, Count: 1, Client: *someone.Client, Command: "del"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

// Of a key the answer has also what may have removed it with others.
func TestRemovalsOfOneKey(t *testing.T) {
	t.Parallel()
	r := NewRemovals(100)
	r.Key(someone, "db0", Deleted, []byte("user:1"), false)
	r.Key(someone, "db0", Deleted, []byte("user:12"), false)
	r.Key(someone, "db1", Deleted, []byte("user:1"), false)
	r.Whole(someone, "db0", ByPrefix, 3, "", []byte("user:"))
	r.Whole(someone, "db0", ByPrefix, 3, "", []byte("page:"))
	r.Whole(someone, "db1", Flushed, Unknown, "", nil)
	r.Whole(someone, "db0", Invalidated, 2, "a, b", nil)
	r.Round("db0", 5, 0)
	r.Audit(someone.Client, "admin", "db0", []byte("user:1"), "deleted")
	r.Audit(someone.Client, "admin", "db0", []byte("user:2"), "deleted")
	got := keysOf(r.Recent(Filter{Cache: "db0", Key: []byte("user:1")}))
	if want := []string{"user:1", "*", "*", "user:", "user:1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := r.Recent(Filter{Cache: "db0", Limit: 2}); len(got) != 2 || got[0].Role != "admin" || got[0].Reason != Changed {
		t.Errorf("%+v", got)
	}
}

func TestLongKeysAreCutAndFound(t *testing.T) {
	t.Parallel()
	r := NewRemovals(10)
	long := strings.Repeat("k", MaxKey)
	r.Key(someone, "db0", Deleted, []byte(long+"a"), false)
	r.Key(someone, "db0", Deleted, []byte(long+"b"), false)
	r.Key(someone, "db0", Deleted, []byte(long), false)
	for _, key := range []string{long, long + "a", long + "b"} {
		got := r.Recent(Filter{Key: []byte(key)})
		if len(got) != 1 || got[0].KeyBytes != len(key) || string(got[0].Key) != long {
			t.Errorf("%d bytes: %+v", len(key), got)
		}
	}
	if got := r.Recent(Filter{Key: []byte(long + "c")}); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	r.Whole(someone, "db0", Invalidated, 1, strings.Repeat("ä", MaxKey), nil)
	if got := r.Recent(Filter{})[0].Detail; len(got) > MaxKey+3 || !strings.HasSuffix(got, "ä...") {
		t.Errorf("%q", got)
	}
}

// The ring keeps the last ones, and what it gave away stays as it was.
func TestTheRingIsBounded(t *testing.T) {
	t.Parallel()
	r := NewRemovals(4)
	r.Key(someone, "db0", Deleted, []byte("0"), false)
	first := r.Recent(Filter{})
	for n := range 10 {
		r.Key(someone, "db0", Deleted, fmt.Append(nil, n), false)
	}
	if got := keysOf(r.Recent(Filter{})); !reflect.DeepEqual(got, []string{"9", "8", "7", "6"}) {
		t.Errorf("%q", got)
	}
	if string(first[0].Key) != "0" || r.Kept() != 4 {
		t.Errorf("%+v, %d", first, r.Kept())
	}
}

func TestRoundsOfUpkeepAreAddedUp(t *testing.T) {
	t.Parallel()
	r := NewRemovals(4)
	r.Round("db0", 0, 0)
	for range 100 {
		r.Round("db0", 2, 1)
	}
	got := r.Recent(Filter{})
	if len(got) != 2 || got[0].Reason != Evicted || got[0].Count != 100 || got[1].Reason != Expired || got[1].Count != 200 {
		t.Fatalf("%+v", got)
	}
	if got[0].Door != DoorUpkeep || got[0].Until.Before(got[0].Time) || !got[0].Whole {
		t.Errorf("%+v", got[0])
	}
	// After a minute there is another row.
	r.at(1).Time = time.Now().Add(-roundSpan)
	r.Round("db0", 0, 7)
	if got := r.Recent(Filter{Limit: 1}); got[0].Count != 7 {
		t.Errorf("%+v", got)
	}
	// A row that the ring has lost is not written to.
	for range 4 {
		r.Key(someone, "db0", Deleted, []byte("k"), false)
	}
	r.Round("db0", 3, 0)
	if got := r.Recent(Filter{}); got[0].Count != 3 || got[1].Reason != Deleted || got[1].Count != 1 {
		t.Errorf("%+v", got)
	}
}

func TestRemovalsThatAreOff(t *testing.T) {
	t.Parallel()
	r := NewRemovals(0)
	r.Key(someone, "db0", Deleted, []byte("k"), false)
	r.Whole(someone, "db0", Flushed, 1, "", nil)
	r.Round("db0", 1, 1)
	r.Audit(nil, "admin", "", nil, "x")
	r.AuditPersons(nil, "sessions", "x")
	if r.Recent(Filter{}) != nil || r.Kept() != 0 || !r.Since().IsZero() {
		t.Error("it remembers")
	}
}

func TestRemovalsOfManyWriters(t *testing.T) {
	t.Parallel()
	r := NewRemovals(64)
	const writers, each = 8, 2000
	var work sync.WaitGroup
	for n := range writers {
		work.Go(func() {
			by := Caller{Client: &Client{Door: DoorRedis, Name: fmt.Sprint(n)}, Command: fmt.Sprint("c", n)}
			for i := range each {
				r.Key(by, "db0", Deleted, fmt.Append(nil, n, " ", i), false)
				r.Round("db0", 1, 0)
				if i%100 == 0 {
					for _, got := range r.Recent(Filter{Limit: 10}) {
						if got.Whole {
							continue
						}
						if got.Command != "c"+got.Name || !strings.HasPrefix(string(got.Key), got.Name+" ") {
							t.Errorf("mixed up: %+v", got)
						}
					}
				}
			}
		})
	}
	work.Wait()
	if got := r.Recent(Filter{}); len(got) != 64 {
		t.Errorf("%d are kept", len(got))
	}
}

func BenchmarkRemovals(b *testing.B) {
	r := NewRemovals(DefaultRemovals)
	key := []byte("some:key:of:ordinary:length")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r.Key(someone, "db0", Deleted, key, false)
		}
	})
}

// What names persons takes no place of the limit of those who may not see it.
func TestRemovalsWithoutPersons(t *testing.T) {
	t.Parallel()
	r := NewRemovals(10)
	r.Audit(nil, "admin", "db0", nil, "settings")
	r.AuditPersons(nil, "sessions", "revoked ada")
	if got := r.Recent(Filter{}); len(got) != 2 || !got[0].Persons || got[0].Detail != "revoked ada" || got[0].Role != "sessions" {
		t.Errorf("%+v", got)
	}
	if got := r.Recent(Filter{NoPersons: true, Limit: 1}); len(got) != 1 || got[0].Persons || got[0].Detail != "settings" {
		t.Errorf("%+v", got)
	}
}
