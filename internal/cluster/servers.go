package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/schema"
)

// State is what a server looks like to the others.
type State struct {
	Server
	Partitions []int  // that it holds
	Entries    int64  // in them, about
	Bytes      int64  // on disk
	Lacking    int    // tables without the storage parameters that a move of Citus's own left out
	Problem    string // why it does not fit, and what to do; "": it fits
}

// facts are what must be alike on all servers, and what one holds.
type facts struct {
	version        int
	digest         string
	seed           []byte
	partitions     int
	caches         string
	entries, bytes int64
	lacking        int
}

const repair = `run "howdah migrate --citus"`

// answerTime is how long a server may take to say how it is.
const answerTime = 5 * time.Second

// List tells how all servers of a database are. A server that does not answer, or does not
// fit, is no error. Errors: ErrUnfit of the coordinator, or the database's own.
func List(ctx context.Context, config *pgx.ConnConfig) ([]State, error) {
	c, err := Open(ctx, config)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	home, err := readFacts(ctx, c.home())
	if err != nil {
		if state := fault.State(err); state == "42P01" || state == "3F000" || state == "42883" {
			return nil, unfitf("the coordinator has no schema of this version: run \"howdah migrate --citus --partitions NUMBER\"")
		}
		return nil, err
	}
	places, err := c.places(ctx)
	if err != nil {
		return nil, err
	}
	states := make([]State, len(c.servers))
	for i, s := range c.servers {
		states[i] = State{Server: *s, Partitions: append([]int{}, places[s.Number]...)}
		c.judge(ctx, s, home, &states[i])
	}
	if placed := len(places); placed == 0 && home.partitions > 0 {
		states[0].Problem = "its partitions have no place: " + repair
	}
	return states, nil
}

// judge compares a server with the coordinator.
func (c *Cluster) judge(ctx context.Context, s *Server, home facts, state *State) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if err := c.reach(ctx, s); err != nil {
		state.Problem = "it does not answer: " + fault.OneLine(err).Error()
		return
	}
	f, err := readFacts(ctx, s.conn)
	switch {
	case fault.State(err) == "42P01", fault.State(err) == "3F000", fault.State(err) == "42883":
		state.Problem = "it has no schema of this version: " + repair
		return
	case err != nil:
		state.Problem = "it cannot be asked: " + fault.OneLine(err).Error()
		return
	}
	state.Entries, state.Bytes, state.Lacking = f.entries, f.bytes, f.lacking
	state.Problem = f.differs(home)
	if state.Problem == "" && !s.synced {
		state.Problem = "Citus has not told it of the last changes of the servers yet: it does so within seconds, if it can reach it"
	}
}

// differs says why a server does not fit; "": it does.
func (f facts) differs(home facts) string {
	switch {
	case f.version != home.version, f.digest != home.digest:
		return "it has another version of the schema than the coordinator: " + repair
	case !bytes.Equal(f.seed, home.seed):
		return "it has another seed than the coordinator, so it finds no key of the others: " + repair
	case f.partitions != home.partitions:
		return fmt.Sprintf("its keys are divided into %d partitions, those of the coordinator into %d: %s", f.partitions, home.partitions, repair)
	case f.caches != home.caches:
		return "it knows other caches, or other settings, than the coordinator: " + repair
	}
	return ""
}

func readFacts(ctx context.Context, conn *pgx.Conn) (f facts, err error) {
	err = conn.QueryRow(ctx, schema.Query("cluster_facts")).
		Scan(&f.version, &f.digest, &f.seed, &f.partitions, &f.caches, &f.entries, &f.bytes, &f.lacking)
	return f, err
}

// places are the partitions of each server.
func (c *Cluster) places(ctx context.Context) (map[int][]int, error) {
	rows, err := c.home().Query(ctx, schema.Query("places"))
	if err != nil {
		return nil, err
	}
	places := map[int][]int{}
	var partition, server, port int
	var host string
	_, err = pgx.ForEachRow(rows, []any{&partition, &server, &host, &port}, func() error {
		places[server] = append(places[server], partition)
		return nil
	})
	return places, err
}

// Add makes a server one of those of a database: it brings the schema there, and then tells
// Citus. The server needs the database with the extension citus, and the role that owns the
// schema. Partitions come with Rebalance. For one that is there already it is a repair.
// Errors: ErrUnfit, fault.ErrPermission, fault.ErrUnavailable, those of migrate.Up, or the
// database's own.
func Add(ctx context.Context, config *pgx.ConnConfig, host string, port int) (Prepared, error) {
	c, err := Open(ctx, config)
	if err != nil {
		return Prepared{}, err
	}
	defer c.Close()
	if err := c.prepare(ctx); err != nil {
		return Prepared{}, err
	}
	m, err := c.common(ctx)
	if err != nil {
		return Prepared{}, err
	}
	if m.partitions == 0 {
		return Prepared{}, unfitf("the keys of this database are not divided: run \"howdah migrate --citus --partitions NUMBER\" first")
	}
	s := c.known(host, port)
	fresh := s == nil
	if fresh {
		if err := c.mayAdd(ctx); err != nil {
			return Prepared{}, err
		}
		s = &Server{Host: host, Port: port, Holds: true}
		if err := c.reachNew(ctx, s); err != nil {
			return Prepared{}, err
		}
		defer s.conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it is not needed any more
	}
	done, err := c.join(ctx, s, m, nil)
	if err != nil {
		return Prepared{}, err
	}
	if fresh {
		if err := c.tell(ctx, s); err != nil {
			return Prepared{}, err
		}
	}
	_, err = c.follow(ctx, s, m, []string{})
	return Prepared{*s, done}, failed(s, err)
}

// known is a server that Citus knows, nil if it does not.
func (c *Cluster) known(host string, port int) *Server {
	for _, s := range c.servers {
		if s.Host == host && s.Port == port {
			return s
		}
	}
	return nil
}

// mayAdd tells whether the role may change the servers. Error: fault.ErrPermission.
func (c *Cluster) mayAdd(ctx context.Context) error {
	var may bool
	if err := c.home().QueryRow(ctx, schema.Query("cluster_privileges")).Scan(&may); err != nil {
		return err
	}
	if !may {
		return fmt.Errorf("%w: only a superuser may change the servers of Citus, and role %q is none: connect as one", fault.ErrPermission, c.role)
	}
	return nil
}

// reachNew connects to a server that Citus does not know yet, and looks whether it could be
// one of its servers.
func (c *Cluster) reachNew(ctx context.Context, s *Server) error {
	if err := c.reach(ctx, s); err != nil {
		return err
	}
	other := Cluster{}
	if err := other.readState(ctx, s.conn); err != nil {
		return failed(s, err)
	}
	if err := CheckVersion(other.version); err != nil {
		return failed(s, err)
	}
	var joined bool
	if err := s.conn.QueryRow(ctx, schema.Query("cluster_joined")).Scan(&joined); err != nil {
		return failed(s, err)
	}
	if joined {
		return unfitf("server %s is one of several servers of Citus already: take it out there first, and give it an empty database", s.Address())
	}
	return nil
}

// tell tells Citus of a server.
func (c *Cluster) tell(ctx context.Context, s *Server) error {
	// As whoever connected: the owner of the schema may not.
	if err := run(ctx, c.home(), schema.Query("cluster_propagate")); err != nil {
		return err
	}
	_, err := c.home().Exec(ctx, schema.Query("cluster_add"), s.Host, s.Port)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return unfitf("Citus does not take server %s: %s %s", s.Address(), pgErr.Message, pgErr.Hint)
	}
	if err != nil {
		return err
	}
	rows, err := c.home().Query(ctx, schema.Query("cluster_servers"))
	if err != nil {
		return err
	}
	var of Server
	_, err = pgx.ForEachRow(rows, []any{&of.Number, &of.id, &of.Host, &of.Port, &of.Holds, &of.synced, &of.self}, func() error {
		if of.Host == s.Host && of.Port == s.Port {
			s.Number, s.id, s.Holds = of.Number, of.id, of.Holds
		}
		return nil
	})
	return err
}
