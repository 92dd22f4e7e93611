package stat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/fault"
)

// Server is one of those that Citus spreads a database over.
type Server struct {
	Number     int    // by Citus; 0: the coordinator
	Address    string // host:port
	Partitions []int  // that it holds

	// Connect lends a connection. nil: it is the server that is asked first.
	Connect func(context.Context) (conn *pgx.Conn, release func(), err error)
}

// ServerState is what a snapshot says of one of several servers.
type ServerState struct {
	Number     int    `json:"number"` // by Citus; 0: the coordinator
	Address    string `json:"address"`
	Up         bool   `json:"up"` // false: it did not answer, and what it holds is missing from all figures
	Partitions []int  `json:"partitions"`
	Entries    int64  `json:"entries"` // of caches, about; 0 if it did not answer
	Bytes      int64  `json:"bytes"`   // of them on disk, likewise
	Problem    string `json:"problem"` // why it did not answer; "": it did
}

// Bounds of what another server is asked for: a page that shows all of them does not wait
// longer for one that is away.
const (
	connectTimeout = 2 * time.Second
	serverTimeout  = 6 * time.Second
)

// answer is what another server said.
type answer struct {
	snapshot *Snapshot
	err      error
}

func (s *Server) read(ctx context.Context) (a answer) {
	a.err = s.do(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
		a.snapshot, err = readOne(ctx, conn)
		return err
	})
	return a
}

// do calls fn with a connection to another server, within bounds.
func (s *Server) do(ctx context.Context, fn func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	connecting, stop := context.WithTimeout(ctx, connectTimeout)
	defer stop()
	conn, release, err := s.Connect(connecting)
	if err != nil {
		return err
	}
	defer release()
	return fn(ctx, conn)
}

// merge adds what other servers said to the snapshot of the first.
func (s *Snapshot) merge(servers []Server, answers []answer) {
	for i := range servers {
		of := &servers[i]
		state := ServerState{Number: of.Number, Address: of.Address, Up: answers[i].err == nil, Partitions: append([]int{}, of.Partitions...)}
		if !state.Up {
			state.Problem = fault.OneLine(answers[i].err).Error()
		}
		found := answers[i].snapshot
		if of.Connect == nil {
			found = s
		}
		if found != nil {
			found.at(of.Number)
			state.Entries, state.Bytes = found.held(of.Number)
		}
		s.Servers = append(s.Servers, state)
	}
	for i, a := range answers {
		if a.snapshot != nil {
			s.add(a.snapshot, servers[i].Address)
		}
	}
}

// at says which server the tables are on.
func (s *Snapshot) at(number int) {
	for i := range s.Tables {
		for k := range s.Tables[i].parts {
			s.Tables[i].parts[k].server = number
		}
	}
}

// held is what the tables of caches on a server take.
func (s *Snapshot) held(number int) (entries, bytes int64) {
	for i := range s.Tables {
		t := &s.Tables[i]
		if t.Sessions {
			continue
		}
		bytes += t.TableBytes + t.IndexBytes + t.ToastBytes
		for _, p := range t.parts {
			if p.server == number {
				entries += p.rows
			}
		}
	}
	return entries, bytes
}

// add adds what another server said. It has sessions only if it is the coordinator.
func (s *Snapshot) add(other *Snapshot, address string) {
	for i := range other.Tables {
		found := &other.Tables[i]
		for k := range s.Tables {
			t := &s.Tables[k]
			if t.Name != found.Name || t.Sessions || found.Sessions || len(found.parts) == 0 {
				continue
			}
			if t.Sample == nil || found.Sample == nil {
				t.Sample = nil
			} else {
				sum := *t.Sample
				sum.Whole = sum.Whole && found.Sample.Whole
				sum.add(*found.Sample)
				t.Sample = &sum
			}
			t.addFigures(found)
		}
	}
	s.Resets += other.Resets
	if other.Resets > 0 && other.Since.After(s.Since) {
		s.Since = other.Since
	}
	if s.Held == nil || other.Held != nil && other.Held.Before(*s.Held) {
		s.Held = other.Held
	}
	if o := other.Oldest; o != nil && (s.Oldest == nil || o.Age > s.Oldest.Age) {
		s.Oldest = &Holder{Who: o.Who + " on " + address, Age: o.Age, Seconds: o.Seconds}
	}
	for _, what := range other.Hidden {
		if !slices.Contains(s.Hidden, what) {
			s.Hidden = append(s.Hidden, what)
		}
	}
}

// isPartial says that the share of a server is missing.
func (s *Snapshot) isPartial() bool { return len(Missing(s.Servers)) > 0 }

// Missing are the servers that did not answer.
func Missing(servers []ServerState) (missing []ServerState) {
	for _, s := range servers {
		if !s.Up {
			missing = append(missing, s)
		}
	}
	return missing
}

// MissingText says in a sentence which servers did not answer; "": all did.
func MissingText(servers []ServerState) string {
	var names []string
	for _, s := range Missing(servers) {
		names = append(names, s.Address)
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d do not answer, and their share is missing: %s", len(names), len(servers), strings.Join(names, ", "))
}
