package experiment

import (
	"testing"

	"github.com/howdah/howdah/bench/internal/result"
)

// A hundred reads of a session in its lifetime cost a tenth of the updates at
// most where the covered ones are skipped: the experiment asserts it, by
// PostgreSQL's count.
func TestKeepaliveCounts(t *testing.T) {
	b, err := newBench(tiny(t))
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	ctx := t.Context()
	d, err := b.sql(ctx)
	if err != nil {
		t.Fatal(err)
	}
	super, err := b.sqlURL(ctx)
	if err != nil {
		t.Fatal(err)
	}
	updates, err := b.keepaliveCounts(ctx, d, super, b.postgres.URL, &result.Result{})
	if err != nil {
		t.Fatal(err)
	}
	if updates[keepEvery] != 100 {
		t.Errorf("100 reads made %v updates where each makes one", updates[keepEvery])
	}
	for _, way := range []string{keepBatch, keepSkip, keepTemp, keepHowdahAll, keepHowdah} {
		if updates[way] == 0 {
			t.Errorf("%s: the sessions were never extended", way)
		}
	}
}

func TestIdentityCacheSmoke(t *testing.T) {
	r, err := named(t, "identity-cache").Do(t.Context(), tiny(t))
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, r)
}

func TestUUIDV7(t *testing.T) {
	seen := map[[16]byte]bool{}
	var last [16]byte
	for range 1000 {
		id := uuidV7()
		if id[6]>>4 != 7 || id[8]>>6 != 2 || seen[id] {
			t.Fatalf("%x is not a new UUID of version 7", id)
		}
		if string(id[:6]) < string(last[:6]) {
			t.Fatalf("%x comes after %x", id, last)
		}
		seen[id], last = true, id
	}
}

func TestThroughProxy(t *testing.T) {
	for given, want := range map[string]string{
		"postgres://me:secret@db.example:5432/app?sslmode=disable": "postgres://me:secret@127.0.0.1:99/app?sslmode=disable",
		"postgres://me@/app?host=/run/postgresql&port=5433":        "postgres://me@127.0.0.1:99/app",
	} {
		got, err := throughProxy(given, "127.0.0.1:99")
		if err != nil || got != want {
			t.Errorf("%s became %s, want %s (%v)", given, got, want, err)
		}
	}
}
