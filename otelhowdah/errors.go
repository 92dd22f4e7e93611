package otelhowdah

import (
	"context"
	"errors"

	"github.com/howdah/howdah"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// errorType is the attribute error.type of an error.
func errorType(err error) string {
	for _, known := range [...]struct {
		err  error
		name string
	}{
		{howdah.ErrUnknownOutcome, "unknown_outcome"}, // wraps what has caused it
		{howdah.ErrTimeout, "timeout"},                // likewise
		{howdah.ErrUnavailable, "unavailable"},
		{howdah.ErrOverloaded, "overloaded"},
		{context.Canceled, "canceled"},
		{context.DeadlineExceeded, "timeout"},
		{howdah.ErrCacheFull, "cache_full"},
		{howdah.ErrCacheNotFound, "cache_not_found"},
		{howdah.ErrCacheInUse, "cache_in_use"},
		{howdah.ErrClosed, "closed"},
		{howdah.ErrCollision, "collision"},
		{howdah.ErrInvalidName, "invalid_name"},
		{howdah.ErrInvalidTag, "invalid_tag"},
		{howdah.ErrInvalidTTL, "invalid_ttl"},
		{howdah.ErrIsolation, "isolation"},
		{howdah.ErrKeyTooLong, "key_too_long"},
		{howdah.ErrMiss, "miss"},
		{howdah.ErrNotFloat, "not_float"},
		{howdah.ErrNotInteger, "not_integer"},
		{howdah.ErrNotStored, "not_stored"},
		{howdah.ErrOverflow, "overflow"},
		{howdah.ErrPermission, "permission"},
		{howdah.ErrValueTooLarge, "value_too_large"},
		{howdah.ErrWatch, "watch"},
		{howdah.ErrWrongType, "wrong_type"},
	} {
		if errors.Is(err, known.err) {
			return known.name
		}
	}
	return semconv.ErrorTypeOther.Value.AsString()
}

// sqlState is what PostgreSQL has answered with an error, "" if it has not.
func sqlState(err error) string {
	var answer interface{ SQLState() string }
	if errors.As(err, &answer) {
		return answer.SQLState()
	}
	return ""
}
