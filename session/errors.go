package session

import (
	"errors"
	"fmt"

	"github.com/howdah/howdah/session/internal/statement"
)

// The errors a caller tells apart with errors.Is, besides those of the
// database, which are howdah.ErrUnavailable, ErrTimeout, ErrUnknownOutcome,
// ErrPermission and ErrSchemaMissing: then nobody knows whether there is a
// session.
var (
	// ErrNotFound says that the token stands for no session: it never did, or
	// the session has expired or was revoked, or its secret was rotated.
	ErrNotFound = errors.New("session: no such session")

	// ErrInvalidToken says that a token is not of the form that this package
	// makes. The database was not asked.
	ErrInvalidToken = errors.New("session: not a token")

	// ErrInvalidID says that an id is not a UUID.
	ErrInvalidID = errors.New("session: not a session id, which is a UUID")

	// ErrConflict says that Save found another version than the one given:
	// read the session again, or use Patch or Merge.
	ErrConflict = errors.New("session: changed by another request, nothing saved")

	// ErrPayloadTooLarge says that a payload exceeds Options.MaxPayloadBytes.
	// Nothing was saved.
	ErrPayloadTooLarge = errors.New("session: payload too large")

	// ErrNotJSON says that fields were to be merged into a payload that is no
	// JSON object, or that one of them is nothing that PostgreSQL merges: see
	// CheckJSON.
	ErrNotJSON = errors.New("session: not a JSON object that can be merged")

	// ErrUserLimit says that the user has Options.UserLimit live sessions.
	ErrUserLimit = errors.New("session: the user has too many sessions")

	// ErrInvalidUser says that a user id is empty where one is needed, longer
	// than 1024 bytes, or not UTF-8 without zero characters.
	ErrInvalidUser = errors.New("session: invalid user id")

	// ErrResponseBegun says that the response was on its way before a session
	// was started or its token renewed: the cookie can no longer be set.
	ErrResponseBegun = errors.New("session: the response has begun, its cookie cannot be changed any more")
)

// codes are the SQLSTATEs that mean one of our errors.
var codes = map[string]error{
	"HW008": ErrPayloadTooLarge,
	"HW013": ErrUserLimit,
	"HW014": ErrNotJSON,
	"22P02": ErrNotJSON, // the one text that is parsed is the payload
	"22P05": ErrNotJSON, // \u0000
	"22021": ErrNotJSON,
	"22003": ErrNotJSON, // a number; those of Options are in range
}

// refusal turns what the functions of the database refuse into our errors.
func refusal(err error) error {
	if ours := codes[statement.State(err)]; ours != nil {
		return fmt.Errorf("%w: %w", ours, err)
	}
	return err
}
