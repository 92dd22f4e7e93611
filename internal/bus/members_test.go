package bus

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// A receiver that others could not be told of, and whose caller leaves nevertheless, hides
// none of those who join later.
func TestJoinAfterOneThatFailed(t *testing.T) {
	t.Parallel()
	p := newProcess(t, pgtest.New(t), "none")
	acquire, away := p.options.Acquire, errors.New("away")
	p.options.Acquire = func(context.Context) (*pgxpool.Conn, error) { return nil, away }
	p.run()
	require.ErrorIs(t, p.tryJoin(Published), away)
	p.Leave(Published)
	p.stop()
	p.options.Acquire = acquire
	p.run()
	told := make(chan error, 1)
	joined, err := p.Join(Published, func(err error) { told <- err })
	require.NoError(t, err)
	require.False(t, joined)
	require.Equal(t, Published.bit(), p.wantedAt(0), "nobody would be told of it")
	require.NoError(t, <-told)
	p.Leave(Published)
}
