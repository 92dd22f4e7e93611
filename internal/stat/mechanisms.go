package stat

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/schema"
)

// Watch is a table whose changes end entries of a cache, as howdah.watches() shows it.
type Watch struct {
	Relation  string     `json:"relation"`
	Cache     string     `json:"cache"`
	Key       string     `json:"key"` // the expression for the key; "": there is none
	Tag       string     `json:"tag"` // likewise for the tag
	State     string     `json:"state"`
	CreatedAt *time.Time `json:"created_at"` // null: it came with a restored table
	Failures  int64      `json:"failures"`   // transactions that ended all of the cache, because an expression failed
	FailedAt  *time.Time `json:"failed_at"`
	Failure   string     `json:"failure"`
}

// Library is a library of functions that the servers share.
type Library struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// Mechanisms are the watches of tables and the scripts that a database keeps for its servers.
type Mechanisms struct {
	Watches     []Watch    `json:"watches"`
	Libraries   []Library  `json:"libraries"`
	Scripts     int64      `json:"scripts"` // of SCRIPT LOAD
	ScriptBytes int64      `json:"script_bytes"`
	LastLoaded  *time.Time `json:"last_loaded"` // within a day
	Hidden      []string   `json:"hidden"`      // what the role may not read
}

// ReadMechanisms asks for the watches and the scripts. What the role may not read is left out and
// named. Errors: those of the database.
func ReadMechanisms(ctx context.Context, conn *pgx.Conn) (*Mechanisms, error) {
	r := &reader{conn: conn}
	m := &Mechanisms{}
	for _, part := range []struct {
		name string
		read func(context.Context, pgx.Tx) error
	}{{"watches", m.watches}, {"scripts", m.scripts}, {"libraries of functions", m.libraries}} {
		err := r.read(ctx, func(tx pgx.Tx) error { return part.read(ctx, tx) })
		if err != nil && !r.hidden(part.name, err) {
			return nil, err
		}
	}
	m.Hidden = r.s.Hidden
	return m, nil
}

func (m *Mechanisms) watches(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, schema.Query("stat_watches"))
	if err != nil {
		return err
	}
	m.Watches, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (w Watch, err error) {
		err = row.Scan(&w.Relation, &w.Cache, &w.Key, &w.Tag, &w.State, &w.CreatedAt, &w.Failures, &w.FailedAt, &w.Failure)
		return w, err
	})
	return err
}

func (m *Mechanisms) scripts(ctx context.Context, tx pgx.Tx) error {
	return tx.QueryRow(ctx, schema.Query("stat_scripts")).Scan(&m.Scripts, &m.ScriptBytes, &m.LastLoaded)
}

func (m *Mechanisms) libraries(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, schema.Query("stat_libraries"))
	if err != nil {
		return err
	}
	m.Libraries, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (l Library, err error) {
		err = row.Scan(&l.Name, &l.Bytes)
		return l, err
	})
	return err
}
