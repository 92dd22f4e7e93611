package pgurl

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestSplitPooler(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, rest, pooler string }{
		{"postgres://u@h/d", "postgres://u@h/d", ""},
		{"postgres://u@h/d?sslmode=disable", "postgres://u@h/d?sslmode=disable", ""},
		{"postgres://u@h/d?pooler=transaction", "postgres://u@h/d", "transaction"},
		{"postgresql://u@h/d?pooler=&sslmode=disable", "postgresql://u@h/d?sslmode=disable", ""},
		{"postgres://u@h1:1,h2:2/d?pooler=transaction&target_session_attrs=primary", "postgres://u@h1:1,h2:2/d?target_session_attrs=primary", "transaction"},
		{"host=h dbname=d", "host=h dbname=d", ""},
	} {
		rest, pooler, err := SplitPooler(c.in)
		require.NoError(t, err)
		require.Equal(t, c.rest, rest)
		require.Equal(t, c.pooler, pooler)
		config, err := Config(c.in)
		require.NoError(t, err)
		require.Equal(t, pgx.QueryExecModeExec, config.DefaultQueryExecMode)
		require.NotContains(t, config.RuntimeParams, "pooler")
	}
	_, _, err := SplitPooler("postgres://u@h/d?pooler=session")
	require.EqualError(t, err, "pooler=session in the URL must be pooler=transaction, or be left out")
}
