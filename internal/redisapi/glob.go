package redisapi

import (
	"context"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/values"
)

// The lengths of patterns are bounded because of the time that [values.Match]
// takes. Names of settings and
// commands are matched on the event loop.
const (
	maxPattern      = 4 << 10 // of keys
	maxNamePatterns = 1 << 10 // of settings or commands, all of a command line
)

const (
	errLongPattern      = refusal("ERR pattern is longer than 4096 bytes; use a shorter one")
	errLongNamePatterns = refusal("ERR patterns are longer than 1024 bytes; use shorter ones")
)

// matches reports whether a key matches a pattern; nil matches every key. It fails
// when the context has ended.
func matches(ctx context.Context, pattern, key []byte) (bool, error) {
	if ctx.Err() != nil {
		return false, fault.ErrTimeout
	}
	return pattern == nil || values.Match(pattern, key), nil
}
