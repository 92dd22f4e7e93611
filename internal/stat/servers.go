package stat

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/schema"
)

// Servers are the processes that use a database, as far as the database knows: there is
// no list of them all. Note says what is missing.
type Servers struct {
	At      time.Time `json:"at"`      // by the database's clock
	Members []Member  `json:"members"` // that want messages of others
	Sources []Source  `json:"sources"` // of connections
	Note    string    `json:"note"`
}

// Member is a process that has subscribers, or clients that wait for a key: a server, or
// an application that uses the library.
type Member struct {
	ID          int64     `json:"id,string"` // random, another one after each start
	Name        string    `json:"name"`      // host and process number
	Notified    bool      `json:"notified"`  // PostgreSQL's notifications reach it; it polls otherwise
	Subscribers int       `json:"subscribers"`
	Waiters     int       `json:"waiters"` // clients that wait for a key
	Since       time.Time `json:"since"`   // when it began to want messages
	Seen        time.Time `json:"seen"`    // when it renewed that
}

// Source is where connections with the application_name of Howdah come from.
type Source struct {
	Address     string `json:"address"` // "": a Unix socket, or hidden from this role
	Connections int    `json:"connections"`
}

const serversNote = "A process is listed while it has subscribers or clients that wait for a key. Of the others only the connections are known, by the address that they come from."

// ReadServers asks who uses the database. Errors: ErrNoAccess, or the database's own.
func ReadServers(ctx context.Context, conn *pgx.Conn) (*Servers, error) {
	r := &reader{conn: conn}
	s := &Servers{Note: serversNote}
	err := r.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, schema.Query("stat_members"))
		if err != nil {
			return err
		}
		s.Members, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (m Member, err error) {
			err = row.Scan(&m.ID, &m.Name, &m.Notified, &m.Subscribers, &m.Waiters, &m.Since, &m.Seen)
			return m, err
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	err = r.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, schema.Query("stat_clients"))
		if err != nil {
			return err
		}
		s.Sources, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c Source, err error) {
			err = row.Scan(&c.Address, &c.Connections, &s.At)
			return c, err
		})
		return err
	})
	return s, err
}
