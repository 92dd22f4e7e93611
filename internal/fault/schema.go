package fault

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// raised are the SQLSTATEs that Howdah's own functions raise.
var raised = map[string]error{
	"HW001": ErrCacheNotFound,
	"HW002": ErrInvalidName,
	"HW003": ErrCacheExists,
	"HW004": ErrInvalidSetting,
	"HW005": ErrNotInteger,
	"HW006": ErrOverflow,
	"HW007": ErrKeyTooLong,
	"HW008": ErrValueTooLarge,
	"HW009": ErrInvalidTTL,
	"HW010": ErrCollision,
	"HW011": ErrCacheFull,
	"HW016": ErrIsolation,
	"HW017": ErrInvalidTag,
	"HW018": ErrWrongType,
	// With a hint, these are ours too.
	"42501": ErrPermission,
	"55P03": ErrCacheInUse,
}

// FromFunction turns an error of one of Howdah's SQL functions into one of this
// package, with the function's own hint. It returns nil for nil.
func FromFunction(err error) error {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		if pgErr.Code == "22021" { // character_not_in_repertoire
			return fmt.Errorf("%w: a setting holds a zero byte, or is not UTF-8", ErrInvalidSetting)
		}
		if sentinel, ok := raised[pgErr.Code]; ok && pgErr.Hint != "" {
			return fmt.Errorf("%w: %s %s", sentinel, pgErr.Message, pgErr.Hint)
		}
	}
	return From(err, false, false)
}

// FromChange is FromFunction for a function that changes data. If the connection was lost
// after it was called, or its caller left, it may have been applied: ErrUnknownOutcome.
func FromChange(err error) error {
	known := err == nil || State(err) != "" || pgconn.SafeToRetry(err) || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrTimeout)
	if known {
		return FromFunction(err)
	}
	return From(err, true, true)
}
