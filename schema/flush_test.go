package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TRUNCATE makes new files, for which a full disk has no room; DELETE needs none.
// flush_peers_test.go does this on a disk that is full.
func TestFlushOnAFullDisk(t *testing.T) {
	t.Parallel()
	db := open(t)
	run(t, db, `CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$
	            BEGIN RAISE 'no space left on device' USING ERRCODE = 'disk_full'; END $$`)
	run(t, db, "CREATE TRIGGER no_room BEFORE TRUNCATE ON "+table(t, db, "c")+" EXECUTE FUNCTION no_room()")
	run(t, db, "SELECT howdah.set_many('c', '{a,b}', '{1,2}')")
	expireNow(t, db, "c", "a")
	require.Equal(t, "delete", one[string](t, db, "SELECT howdah.flush('c')"))
	require.Zero(t, one[int](t, db, "SELECT count(*) FROM "+table(t, db, "c")))
	require.Equal(t, "0", one[string](t, db, "SHOW lock_timeout"), "the caller's setting is back")
}
