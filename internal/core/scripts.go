package core

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/schema"
)

// Bounds on the scripts that a database keeps: the ones loaded longest ago are removed.
const (
	maxScripts     = 10_000
	maxScriptBytes = 16 << 20 // of text
)

// Scripts are the Lua scripts and the function libraries that a database keeps for all
// servers. Each call takes Options.Timeout at most. Errors: ErrTimeout, ErrUnavailable,
// ErrPermission, ErrUnknownOutcome, or one of PostgreSQL.
type Scripts struct{ settings }

// settings is what a database keeps for all servers, in its transaction if there is one.
type settings struct {
	db *DB
	tx Tx
}

// Scripts returns those of the database. A transaction makes the calls a part of it; nil
// is none.
func (db *DB) Scripts(tx Tx) Scripts { return Scripts{settings{db, tx}} }

// ScriptState tells whether what a server has in memory is outdated.
type ScriptState struct {
	Scripts   string // another one after each Flush
	Functions string // another one after each change of the libraries
}

// FunctionLibrary is a library as it is stored.
type FunctionLibrary struct {
	Name   string
	Source []byte
}

// State returns the present state.
func (s Scripts) State(ctx context.Context) (state ScriptState, err error) {
	found := false
	err = s.ask(ctx, "script_state", nil, []any{&state.Scripts, &state.Functions}, func() { found = true })
	if err == nil && !found {
		err = errNoState
	}
	return state, err
}

const errNoState = stateError("howdah: the row of howdah_internal.script_state is missing; restore it with INSERT INTO howdah_internal.script_state DEFAULT VALUES")

type stateError string

func (e stateError) Error() string { return string(e) }

// Find returns the source of a script, nil if there is none. It does not verify that the
// SHA-1 is that of the source.
func (s Scripts) Find(ctx context.Context, sha1 []byte) (source []byte, err error) {
	err = s.ask(ctx, "script_find", []any{sha1}, []any{&source}, nil)
	return source, err
}

// Exist returns which of these SHA-1s are those of scripts.
func (s Scripts) Exist(ctx context.Context, sha1s [][]byte) (map[string]bool, error) {
	exist := make(map[string]bool)
	var sha1 []byte
	err := s.ask(ctx, "script_exists", []any{sha1s}, []any{&sha1}, func() { exist[string(sha1)] = true })
	return exist, err
}

// Save keeps a script.
func (s Scripts) Save(ctx context.Context, sha1, source []byte) error {
	return s.change(ctx, "script_save", []any{sha1, source, maxScripts, maxScriptBytes}, nil)
}

// Flush removes all scripts, and returns the new state of them.
func (s Scripts) Flush(ctx context.Context) (state string, err error) {
	if err = s.change(ctx, "script_flush", nil, []any{&state}); err == nil && state == "" {
		err = errNoState
	}
	return state, err
}

// Libraries returns all libraries by name, and the state that they belong to.
func (s Scripts) Libraries(ctx context.Context) (all []FunctionLibrary, state string, err error) {
	var name *string
	var source []byte
	err = s.ask(ctx, "functions", nil, []any{&state, &name, &source}, func() {
		if name != nil {
			all = append(all, FunctionLibrary{*name, source})
		}
	})
	if err == nil && state == "" {
		err = errNoState
	}
	return all, state, err
}

// SaveLibraries stores libraries if the state of the libraries is still the one given,
// and removes all others if asked to. It returns the state after that, "" if it was
// another: then nothing was done.
func (s Scripts) SaveLibraries(ctx context.Context, state string, libraries []FunctionLibrary, others bool) (next string, err error) {
	names, sources := make([]string, len(libraries)), make([][]byte, len(libraries))
	for i, l := range libraries {
		names[i], sources[i] = l.Name, l.Source
	}
	return s.replace(ctx, "function_save", state, names, sources, others)
}

// DeleteLibrary removes a library. Results: as of SaveLibraries.
func (s Scripts) DeleteLibrary(ctx context.Context, state, name string) (next string, err error) {
	return s.replace(ctx, "function_delete", state, name)
}

func (s Scripts) replace(ctx context.Context, query string, args ...any) (next string, err error) {
	err = s.change(ctx, query, args, []any{&next})
	if fault.IsConflict(err) { // where transactions are REPEATABLE READ by default
		return "", nil
	}
	return next, err
}

// ask runs a query that only reads. each is called after each row was read into scan.
func (s settings) ask(ctx context.Context, query string, args, scan []any, each func()) error {
	return s.run(ctx, schema.Query(query), false, args, scan, each)
}

// change runs a statement that writes, and returns one row at most into scan.
func (s settings) change(ctx context.Context, query string, args, scan []any) error {
	return s.run(ctx, schema.Query(query), true, args, scan, nil)
}

func (s settings) run(ctx context.Context, sql string, writes bool, args, scan []any, each func()) error {
	ctx, cancel := engine.Bounded(ctx, s.db.opts.Timeout)
	defer cancel()
	read := func(rows pgx.Rows, err error) error {
		if err != nil {
			return err
		}
		_, err = pgx.ForEachRow(rows, scan, func() error {
			if each != nil {
				each()
			}
			return nil
		})
		return err
	}
	if s.tx != nil {
		err := read(s.tx.Query(ctx, sql, args...))
		if fault.IsConflict(err) {
			return err // the transaction is repeated
		}
		return fault.From(err, false, false)
	}
	conn, err := s.db.engines.Acquire(ctx)
	if err != nil {
		return s.db.Failure(err, false)
	}
	defer conn.Release()
	return s.db.Failure(read(conn.Query(ctx, sql, args...)), writes)
}
