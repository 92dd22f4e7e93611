package howdah_test

import (
	"context"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/verb"
)

// do runs calls as the doors do.
func do(ctx context.Context, c *howdah.Cache, calls ...*verb.Call) error {
	return (*core.Cache)(c).Do(ctx, calls...)
}

// start begins a call as the event loops do.
func start(c *howdah.Cache, call *verb.Call, done func(*verb.Call)) {
	(*core.Cache)(c).Start(call, done)
}
