package schema_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/schema"
)

// PostgreSQL understands every query, and a comment says what it is for.
func TestQueriesCanBePrepared(t *testing.T) {
	t.Parallel()
	db := open(t)
	conn, err := db.Acquire(ctx(t))
	require.NoError(t, err)
	defer conn.Release()
	// What is asked where the schema is older, the extension missing, or is
	// several statements, which cannot be prepared together.
	apart := map[string]bool{
		"migrate_caches_before_6": true, "doctor_statements": true, "doctor_polls": true, "doctor_candidates": true,
		"migrate_begin": true, "migrate_db0": true, "migrate_drop": true, "migrate_functions": true,
		"bus_listen": true, "cost_statements": true, "cost_buffers": true,
		"coordinator": true, "cluster_servers": true, "cluster_add": true, "cluster_drain": true, "cluster_plan": true, "cluster_move": true, "cluster_background": true, "cluster_local": true, "doctor_places": true, "cluster_everywhere": true, "cluster_joined": true,
	}
	files, err := filepath.Glob("queries/*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sql")
		sql := schema.Query(name)
		require.True(t, strings.HasPrefix(sql, "-- "), "%s begins with no comment", file)
		switch name {
		case "doctor_relations", "doctor_columns", "doctor_indexes":
			sql = schema.Query("doctor_candidates") + sql
		case "stat_sample", "stat_sample_sessions", "stat_entries":
			sql = strings.NewReplacer("{table}", table(t, db, "c"), "{number}", "0", "{share}", "1.5").Replace(sql)
		case "migrate_divide":
			sql = strings.ReplaceAll(sql, "{partitions}", "2")
		}
		if !apart[name] {
			_, err := conn.Conn().Prepare(ctx(t), name, sql)
			require.NoError(t, err, file)
		}
	}
}
