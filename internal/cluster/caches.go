package cluster

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/fault"
)

// Change makes one change of a cache on all servers: a query of package schema that calls a
// function of Howdah, with its arguments.
type Change struct {
	Query   string
	Args    []any
	Makes   bool   // it makes tables, which Citus takes then
	Emptied string // the cache that it empties; "": none
}

// Do makes a change on all servers of the database whose coordinator config names. All of them
// must answer. Errors: ErrUnfit, fault.ErrUnavailable, fault.ErrPermission, or the function's own.
func Do(ctx context.Context, config *pgx.ConnConfig, do Change) error {
	err := try(ctx, config, do)
	for _, own := range []error{ErrUnfit, fault.ErrUnavailable, fault.ErrPermission} {
		if errors.Is(err, own) {
			return err
		}
	}
	return fault.FromFunction(err)
}

func try(ctx context.Context, config *pgx.ConnConfig, do Change) error {
	c, err := Open(ctx, config)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.prepare(ctx); err != nil {
		return err
	}
	var change change
	call := exec(ctx, do.Query, do.Args...)
	if do.Makes {
		change.here = call
	} else {
		change.everywhere = call
	}
	if do.Emptied != "" {
		change.emptied = []string{do.Emptied}
	}
	return c.make(ctx, change)
}
