// Package scsstore keeps the sessions of github.com/alexedwards/scs in Howdah:
//
//	manager := scs.New()
//	manager.Store = scsstore.New(db)
//
// It is all of scs's store interfaces: Store, CtxStore, IterableStore and
// IterableCtxStore.
//
// A token of scs is 32 random bytes in base64. The database holds its SHA-256,
// under an id that is made from a second digest of it, so that neither the
// table nor a dump of it holds anything that logs in; scs's HashTokenInStore is
// not needed, and Iterate does not work with it.
//
// A token that was deleted stays dead: where other stores bring a session back
// when a request that still runs commits after the logout, this one stores
// nothing. It remembers deleted tokens for an hour.
//
// Expired rows are removed by session.Manager.Run, or by
// SELECT howdah.session_expire() from time to time; they are never served.
package scsstore

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/session/internal/statement"
)

// DefaultTimeout bounds calls whose context has no earlier deadline.
const DefaultTimeout = 2 * time.Second

// Store is a session store for scs. It is safe for concurrent use.
type Store struct {
	run *statement.Runner
}

// New returns a store of sessions in db. It does not ask the database.
func New(db *howdah.DB) *Store {
	return &Store{statement.New((*core.DB)(db), DefaultTimeout)}
}

// handlePrefix begins what All returns in the place of tokens. No token of scs
// contains a colon.
const handlePrefix = "howdah:"

// row is where a token's session is kept: the id is a UUID of version 8
// (RFC 9562), which session.Manager's tokens never have, and the hash proves
// the token. A handle has no hash.
type row struct {
	id   string
	hash []byte
}

func rowOf(token string) row {
	if id, ok := strings.CutPrefix(token, handlePrefix); ok {
		return row{id: id}
	}
	hash := sha256.Sum256([]byte(token))
	named := sha256.Sum256([]byte("howdah scs session\x00" + token))
	id := named[:16]
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	h := hex.EncodeToString(id)
	return row{h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:], hash[:]}
}

// FindCtx returns the data of a token. Absence is not an error; that the
// database cannot be asked is.
func (s *Store) FindCtx(ctx context.Context, token string) (data []byte, found bool, err error) {
	r := rowOf(token)
	if r.hash == nil {
		return nil, false, nil // a handle never logs in
	}
	var hash []byte
	err = s.run.Read(ctx, []any{&hash, &data}, "scs_find", r.id)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, false, err
	}
	if subtle.ConstantTimeCompare(hash, r.hash) != 1 {
		return nil, false, nil
	}
	return data, true, nil
}

// CommitCtx stores the data of a token until expiry. Of a token that was
// deleted it stores nothing, which is no error.
//
// The time that is left is measured here, and ends by the database's clock: the
// two need not agree.
func (s *Store) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	if data == nil {
		data = []byte{}
	}
	r, left := rowOf(token), time.Until(expiry)
	var stored bool
	if r.hash == nil {
		return s.commitHandle(ctx, r.id, data, left)
	}
	return s.run.Write(ctx, statement.Durable(), []any{&stored},
		"scs_put", r.id, r.hash, data, left)
}

// commitHandle stores what a callback of scs's Iterate changed. It makes
// nothing new.
func (s *Store) commitHandle(ctx context.Context, id string, data []byte, left time.Duration) error {
	var hash []byte
	err := s.run.Read(ctx, []any{&hash}, "scs_hash", id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	var stored bool
	return s.run.Write(ctx, statement.Durable(), []any{&stored},
		"scs_put", id, hash, data, left)
}

// DeleteCtx ends the session of a token. One that does not exist is no error.
func (s *Store) DeleteCtx(ctx context.Context, token string) error {
	r := rowOf(token)
	var ended bool
	return s.run.Write(ctx, statement.Durable(), []any{&ended},
		"scs_bury", r.id, r.hash)
}

// AllCtx returns the data of all live sessions of scs. They are all in memory
// at once: for people and for upkeep, not for requests.
//
// In the place of tokens, which nobody knows, the keys are handles: scs can
// change and destroy a session by its handle (in Iterate), but nobody can log
// in with one.
func (s *Store) AllCtx(ctx context.Context) (map[string][]byte, error) {
	all := make(map[string][]byte)
	err := s.run.Query(ctx, func(rows pgx.Rows) error {
		var id string
		var data []byte
		_, err := pgx.ForEachRow(rows, []any{&id, &data}, func() error {
			all[handlePrefix+id] = data
			data = nil
			return nil
		})
		return err
	}, "scs_all")
	if err != nil {
		return nil, fmt.Errorf("scsstore: sessions were not listed: %w", err)
	}
	return all, nil
}

// Find is FindCtx without a context.
func (s *Store) Find(token string) ([]byte, bool, error) {
	return s.FindCtx(context.Background(), token)
}

// Commit is CommitCtx without a context.
func (s *Store) Commit(token string, data []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expiry)
}

// Delete is DeleteCtx without a context.
func (s *Store) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }

// All is AllCtx without a context.
func (s *Store) All() (map[string][]byte, error) { return s.AllCtx(context.Background()) }
