package soak

import (
	"context"
	"errors"
	"time"

	"github.com/howdah/howdah/bench/internal/service"
)

// The contenders, as the page names them.
const (
	HowdahName  = "Howdah"
	ControlName = "hand-tuned table"
)

// errMiss says that a key is not there.
var errMiss = errors.New("miss")

// callTimeout is far beyond what a request should take: a slow answer is to be
// seen as a latency, not as an error.
const callTimeout = 10 * time.Second

// contender stores values under keys on a PostgreSQL of its own.
type contender interface {
	name() string
	table() string // where the rows are
	get(ctx context.Context, key string) ([]byte, error)
	// getSliding lets the key live for ttl from now.
	getSliding(ctx context.Context, key string, ttl time.Duration) ([]byte, error)
	set(ctx context.Context, key string, value []byte, ttl time.Duration) error // ttl 0: for ever
	// run does the upkeep until ctx ends.
	run(ctx context.Context) error
	upkeep() upkeepWork
	close()
}

// upkeepWork is what upkeep did since the contender was made.
type upkeepWork struct{ rounds, expired, evicted int64 }

// makers build the contenders in the order of the page.
var makers = []func(context.Context, *Config, *service.PostgresServer) (contender, error){newHowdah, newControl}
