package contract

import (
	"testing"

	"github.com/howdah/howdah/internal/test/dbtest"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/verb"
	"github.com/stretchr/testify/require"
)

// A group ends what memory holds of the keys that it changes, and of those only.
func TestCommitAndMemory(t *testing.T) {
	t.Parallel()
	db := dbtest.OpenNear(t, pgtest.New(t))
	c := db.Cache("near")
	f := &fixture{T: t, Cache: c}
	versions := map[string]int64{}
	for _, key := range []string{"read", "stored", "removed"} {
		versions[key] = f.stored(key, "1")
	}
	dbtest.AwaitPolls(t, c)
	for _, key := range []string{"read", "stored", "removed", "none"} {
		dbtest.Warm(t, c, key)
	}
	done := f.commit(onlyRead("read", versions["read"]), put("stored", "2", versions["stored"]), remove("removed", versions["removed"]), put("none", "2", 0))
	require.Equal(t, verb.OK, done.Status)
	fills := dbtest.Memory(db).Fills
	dbtest.Warm(t, c, "read")
	require.Equal(t, fills, dbtest.Memory(db).Fills, "what was only read is in memory still")
	hits := dbtest.Memory(db).Hits
	for key, want := range map[string]string{"stored": "2", "removed": "", "none": "2"} {
		require.Equal(t, want, dbtest.Read(t, c, key), key)
	}
	require.Equal(t, hits, dbtest.Memory(db).Hits)
}
