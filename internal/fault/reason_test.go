package fault

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReasonOf(t *testing.T) {
	t.Parallel()
	for want, err := range map[Reason]error{
		ReasonOther:          errors.New("PostgreSQL refused the statement"),
		ReasonTimeout:        Timeout("the database is busy", nil),
		ReasonUnavailable:    ErrClosed,
		ReasonUnknownOutcome: fmt.Errorf("%w: %w", ErrUnknownOutcome, context.DeadlineExceeded),
		ReasonOverloaded:     ErrOverloaded,
		ReasonCacheFull:      ErrCacheFull,
		ReasonPermission:     ErrPermission,
		ReasonCollision:      ErrCollision,
		ReasonRequest:        ErrLargeCollection,
	} {
		require.Equal(t, want, ReasonOf(err), err)
		require.NotEmpty(t, want.String())
	}
}
