package stat_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/stat"
	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestMechanisms(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), pgtest.New(t))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	m, err := stat.ReadMechanisms(t.Context(), conn)
	require.NoError(t, err)
	require.Empty(t, m.Watches)
	require.Zero(t, m.Scripts)
	require.Empty(t, m.Libraries)

	for _, sql := range []string{
		"CREATE TABLE public.page (id int PRIMARY KEY)",
		"SELECT howdah.watch_table('public.page', cache => 'db0', key => '''page:'' || id')",
		"INSERT INTO howdah_internal.script (sha1, source) VALUES (decode(repeat('ab', 20), 'hex'), 'return 1')",
		"INSERT INTO howdah_internal.function_library VALUES ('mine', '#!lua name=mine')",
	} {
		_, err := conn.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	m, err = stat.ReadMechanisms(t.Context(), conn)
	require.NoError(t, err)
	require.Len(t, m.Watches, 1)
	require.Equal(t, "active", m.Watches[0].State)
	require.Contains(t, m.Watches[0].Relation, "page")
	require.Equal(t, "db0", m.Watches[0].Cache)
	require.Contains(t, m.Watches[0].Key, "page:")
	require.EqualValues(t, 1, m.Scripts)
	require.EqualValues(t, 8, m.ScriptBytes)
	require.NotNil(t, m.LastLoaded)
	require.Equal(t, []stat.Library{{Name: "mine", Bytes: 15}}, m.Libraries)
	require.Empty(t, m.Hidden)
}
