package stat

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/schema"
)

// Servers are the processes that use a database, as far as the database knows: there is
// no list of them all. Note says what is missing.
type Servers struct {
	At        time.Time `json:"at"`        // by the database's clock
	Processes []Process `json:"processes"` // of "howdah serve"; null: the role may not read them
	Members   []Member  `json:"members"`   // that want messages of others
	Sources   []Source  `json:"sources"`   // of connections
	Note      string    `json:"note"`
}

// Process is a process of "howdah serve". It says every 10 seconds that it is there.
type Process struct {
	ID      int64     `json:"id,string"` // random, another one after each start
	Name    string    `json:"name"`      // host and process number
	Version string    `json:"version"`   // of the program
	Started time.Time `json:"started"`
	Seen    time.Time `json:"seen"`   // when it last said that it is there
	Silent  bool      `json:"silent"` // it has not for 35 seconds; after 5 minutes it is forgotten
	Self    bool      `json:"self"`   // the one that tells
	Near    *InMemory `json:"near"`   // null: it keeps nothing in memory
}

// InMemory are the entries that a process keeps in memory, and what it counted of them since it
// started, as of Process.Seen.
type InMemory struct {
	Bound    float64 `json:"bound"` // seconds; the greatest age of what is read from memory
	Entries  int64   `json:"entries"`
	Bytes    int64   `json:"bytes"`
	MaxBytes int64   `json:"max_bytes"`
	Hits     int64   `json:"hits"`
	Misses   int64   `json:"misses"`
	MaxAge   float64 `json:"max_age"` // seconds; of the oldest hit
	Lag      float64 `json:"lag"`     // seconds since the last poll of the change log that succeeded; 0: no reads want memory
	Drops    int64   `json:"drops"`   // times that it lost sight of the change log, and dropped everything
	Lapses   int64   `json:"lapses"`  // times that no poll succeeded within Bound
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

// What the lists lack.
const (
	serversNote = "A process of howdah serve is listed until 5 minutes after it was last seen. An application that uses the library is listed" +
		" while it has subscribers or clients that wait for a key; of the others only the connections are known, by the address that they come from."
	processesHidden = "The processes of howdah serve are hidden from this role: let the owner of the schema run \"howdah migrate --runtime-role\" for it. "
	selfMissing     = "The server that tells this is not in the list; its log says why. "
)

// ReadServers asks who uses the database. self is the number of the process that asks, if it
// is one of "howdah serve", else 0. Errors: ErrNoAccess, or the database's own.
func ReadServers(ctx context.Context, conn *pgx.Conn, self int64) (*Servers, error) {
	r := &reader{conn: conn}
	s := &Servers{Note: serversNote}
	var err error
	if s.Processes, err = readProcesses(ctx, r, self); r.hidden("processes", err) {
		s.Note = processesHidden + s.Note
	} else if err != nil {
		return nil, fmt.Errorf("the list of servers cannot be read: %w", err)
	} else if self != 0 && !listed(s.Processes, self) {
		s.Note = selfMissing + s.Note
	}
	err = r.read(ctx, func(tx pgx.Tx) error {
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

func readProcesses(ctx context.Context, r *reader, self int64) (processes []Process, err error) {
	err = r.read(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, schema.Query("stat_processes"))
		if err != nil {
			return err
		}
		processes, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Process, err error) {
			var near InMemory
			err = row.Scan(&p.ID, &p.Name, &p.Version, &p.Started, &p.Seen, &p.Silent,
				&near.Bound, &near.Entries, &near.Bytes, &near.MaxBytes, &near.Hits, &near.Misses, &near.MaxAge, &near.Lag, &near.Drops, &near.Lapses)
			if p.Self = p.ID == self; near.Bound > 0 {
				p.Near = &near
			}
			return p, err
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return processes, nil
}

func listed(processes []Process, id int64) bool {
	return slices.ContainsFunc(processes, func(p Process) bool { return p.ID == id })
}
