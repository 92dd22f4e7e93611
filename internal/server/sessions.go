package server

import (
	"context"

	"github.com/howdah/howdah/session"
)

// keeper runs the upkeep of sessions beside the server.
type keeper struct {
	cancel context.CancelFunc
	ended  chan error
}

// keepSessions starts what writes the uses of sessions in batches and removes
// expired ones.
func keepSessions(manager *session.Manager) *keeper {
	ctx, cancel := context.WithCancel(context.Background())
	k := &keeper{cancel, make(chan error, 1)}
	go func() { k.ended <- manager.Run(ctx) }()
	return k
}

// stop writes the uses that are left. The last request must have been answered,
// and the database still be open.
func (k *keeper) stop(ctx context.Context) error {
	k.cancel()
	select {
	case err := <-k.ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
