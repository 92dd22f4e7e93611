package core

import (
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// What edits keep of a cache ends with its engine, although the database is still known.
func TestEditsEndWithTheirEngine(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), pgtest.New(t), Options{Timeout: 20 * time.Second})
	require.NoError(t, err)
	require.NoError(t, db.CreateCache(t.Context(), CacheConfig{Name: "c"}))
	_, err = db.Cache("c").SEdit(t.Context(), []byte("s"), SChange{Add: []string{"x"}})
	require.NoError(t, err)
	engine := weak.Make(db.engines.Known("c"))
	require.NoError(t, db.Close())
	require.Eventually(t, func() bool { runtime.GC(); return engine.Value() == nil }, time.Minute, 10*time.Millisecond)
	runtime.KeepAlive(db)
}
