package core

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/howdah/howdah/internal/bus"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/schema"
)

// servers are those that Citus has placed the partitions of a database on. The
// coordinator is home: sessions, scripts and messages are there.
type servers struct {
	home    *DB
	address string                // the address of home, as the others reach it
	route   atomic.Pointer[[]*DB] // by partition
	gates   []gate                // by partition

	mu      sync.Mutex
	others  map[int]*server     // by their number in Citus
	leaving map[*DB]*time.Timer // of servers that hold nothing any more
	closed  bool
	known   []Server         // as of route
	listens map[bus.Kind]int // how many listen to what other processes publish
	running context.Context  // of DB.Run; nil: it does not run
	work    *sync.WaitGroup  // of running
	reading *mapReading      // of the map; nil: it is not being read
	read    time.Time        // when that began last
}

// server is one beside home.
type server struct {
	address   string
	db        *DB
	interests map[bus.Kind]*interest // in what is published there
}

// newServer makes one beside home.
func newServer(address string, db *DB) *server {
	other := &server{address: address, db: db, interests: map[bus.Kind]*interest{}}
	for _, kind := range []bus.Kind{bus.Published, bus.ShardPublished} {
		other.interests[kind] = &interest{bus: db.bus, kind: kind}
	}
	return other
}

// mapReading is one reading of the map.
type mapReading struct {
	done chan struct{}
	err  error
}

// place is where Citus has a partition.
type place struct {
	Partition int
	Server    int // 0: the coordinator
	Host      string
	Port      int
}

// placesOf asks a server for the places of all partitions.
func placesOf(ctx context.Context, db *DB) ([]place, error) {
	rows, err := db.engines.Query(ctx, schema.Query("places"))
	if err != nil {
		return nil, fault.From(err, false, false)
	}
	places, err := pgx.CollectRows(rows, pgx.RowToStructByPos[place])
	return places, fault.From(err, false, false)
}

// spread gives the partitions of a database their servers, if Citus has placed them.
func (db *DB) spread(ctx context.Context) error {
	places, err := placesOf(ctx, db)
	if err != nil || len(places) == 0 {
		return err
	}
	s := &servers{home: db, gates: make([]gate, db.partitions.number), others: map[int]*server{}, leaving: map[*DB]*time.Timer{}, listens: map[bus.Kind]int{}}
	if s.address, err = addressOf(ctx, db); err != nil {
		return err
	}
	if err := s.use(places); err != nil {
		for _, other := range s.close() {
			_ = other.closeServer()
		}
		return err
	}
	db.partitions.servers, db.partitions.holder = s, s.holder
	return nil
}

func (s *servers) holder(partition int) *DB { return (*s.route.Load())[partition] }

// use makes places the route, and connects to servers that are new in it.
func (s *servers) use(places []place) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fault.ErrClosed
	}
	route := make([]*DB, s.home.partitions.number)
	for _, p := range places {
		if p.Partition >= len(route) {
			continue
		}
		db, err := s.at(p)
		if err != nil {
			return err
		}
		route[p.Partition] = db
	}
	if missing := slices.Index(route, nil); missing >= 0 {
		return fmt.Errorf("%w: Citus has no place for partition %d: run \"howdah migrate --citus\"", fault.ErrUnavailable, missing)
	}
	former := s.route.Swap(&route)
	s.note(places, route)
	if former != nil {
		s.moved(*former, route)
	}
	for number, other := range s.others {
		if !slices.Contains(route, other.db) {
			delete(s.others, number)
			s.leave(other)
		}
	}
	return nil
}

// moved has those who wait for keys of partitions that have moved wait where they are now.
func (s *servers) moved(former, route []*DB) {
	for number, db := range former {
		if route[number] == db {
			continue
		}
		for _, e := range db.engines.All() {
			if e.Partition() == number {
				go s.home.Waiters().End(e, fault.ErrElsewhere)
			}
		}
	}
}

// leave closes the database of a server that holds nothing any more, or has failed over. What
// was begun there before the route was another one has time to end. s.mu is held.
func (s *servers) leave(other *server) {
	db := other.db
	if memory := db.Near(); memory != nil {
		memory.Resize(0) // others have its share
	}
	s.leaving[db] = time.AfterFunc(2*s.home.opts.Timeout, func() {
		s.mu.Lock()
		delete(s.leaving, db)
		s.mu.Unlock()
		s.home.Waiters().Exclude(db.engines)
		_ = db.closeServer()
	})
}

// close ends the reading of maps and returns the databases that are to be closed.
func (s *servers) close() (list []*DB) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, other := range s.others {
		list = append(list, other.db)
	}
	for db, timer := range s.leaving {
		if timer.Stop() {
			list = append(list, db)
		}
	}
	return list
}

// at returns the database on a server. s.mu is held.
func (s *servers) at(p place) (*DB, error) {
	if p.Server == 0 {
		return s.home, nil
	}
	address := fmt.Sprintf("%s:%d", p.Host, p.Port)
	known := s.others[p.Server]
	if known != nil && known.address == address {
		return known.db, nil
	}
	db, err := s.connect(p)
	if err != nil {
		return nil, err
	}
	if known != nil { // it has failed over
		s.leave(known)
	}
	s.others[p.Server] = newServer(address, db)
	if s.running != nil {
		s.run(s.others[p.Server])
	}
	return db, nil
}

// connect makes the database of a server, as home is made. It asks nothing: a server that
// is away is no error before somebody needs it.
func (s *servers) connect(p place) (*DB, error) {
	config := s.home.Pool().Config().Copy()
	config.ConnConfig.Host, config.ConnConfig.Port = p.Host, uint16(p.Port)
	config.ConnConfig.Fallbacks = nil
	if tls := config.ConnConfig.TLSConfig; tls != nil && tls.ServerName != "" {
		tls.ServerName = p.Host
	}
	config.MinConns, config.MinIdleConns = 0, 0
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("howdah: %w", err)
	}
	db, err := build(pool, s.home.opts, true, s.home.engines.OwnConn, s.home.shared)
	if err != nil {
		pool.Close()
		return nil, err
	}
	s.home.Waiters().Include(db.engines)
	db.partitions = s.home.partitions
	db.upkeep.AskEvents = db.events.known
	db.engines.Observe(engine.Observed{Removals: s.home.Removals(), Prefixes: s.home.Prefixes(), Named: s.home.NamedPrefixes()})
	return db, nil
}

// all are the databases of all servers, the one itself first.
func (db *DB) all() []*DB {
	if s := db.servers(); s != nil {
		return s.all()
	}
	return []*DB{db}
}

// all are the databases of all servers, home first.
func (s *servers) all() []*DB {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []*DB{s.home}
	for _, number := range slices.Sorted(maps.Keys(s.others)) {
		list = append(list, s.others[number].db)
	}
	return list
}

// run does the upkeep of a server beside home. s.mu is held.
func (s *servers) run(other *server) {
	ctx, db := s.running, other.db
	s.work.Go(func() {
		for ctx.Err() == nil && !db.engines.Closed() {
			_ = db.run(ctx)
		}
	})
	s.work.Go(func() {
		if db.bus.Await(ctx) == nil {
			s.keepListening(ctx, other)
		}
	})
}

// begin runs all servers beside home until ctx ends, and reads the map now and then.
func (s *servers) begin(ctx context.Context, work *sync.WaitGroup) {
	s.mu.Lock()
	s.running, s.work = ctx, work
	for _, other := range s.others {
		s.run(other)
	}
	s.mu.Unlock()
	work.Go(func() {
		for {
			select {
			case <-time.After(readEvery/2 + rand.N(readEvery)):
				_ = s.reroute(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
}

// end says that nothing is run any more, before what runs is waited for.
func (s *servers) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = nil
}

const (
	readEvery  = 30 * time.Second       // how often the map is read without a reason
	readPause  = 20 * time.Millisecond  // between two readings for a reason
	lostPause  = 300 * time.Millisecond // between two because a server did not answer
	maxReroute = 40                     // how often a call is sent to the server that the map names then
)

// reroute reads the map again. Who comes while it is read waits for that.
func (s *servers) reroute(ctx context.Context) error {
	s.mu.Lock()
	r := s.reading
	if r == nil {
		r = &mapReading{done: make(chan struct{})}
		s.reading = r
		pause := readPause - time.Since(s.read)
		s.read = time.Now().Add(max(0, pause))
		go func() {
			time.Sleep(max(0, pause))
			r.err = s.readMap()
			s.mu.Lock()
			s.reading = nil
			s.mu.Unlock()
			close(r.done)
		}()
	}
	s.mu.Unlock()
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return fault.Timeout("the place of a partition is not known", context.Cause(ctx))
	}
}

// readMap asks the servers for the map, one after the other until one answers.
func (s *servers) readMap() (err error) {
	for _, db := range s.all() {
		ctx, cancel := context.WithTimeout(context.Background(), db.opts.Timeout)
		places, failed := placesOf(ctx, db)
		cancel()
		if failed == nil {
			return s.use(places)
		}
		err = errors.Join(err, failed)
	}
	return err
}

// missing has the map read if an error says that a server did not answer.
func (db *DB) missing(err error) {
	if s := db.servers(); s != nil && errors.Is(err, fault.ErrUnavailable) {
		s.lost()
	}
}

// naming names the server of a partition in the error of a call that it did not answer, where
// there are several.
func (db *DB) naming(partition int, err error) error {
	s := db.servers()
	var named *fault.ServerError
	if err == nil || s == nil || errors.As(err, &named) {
		return err
	}
	for _, of := range []error{fault.ErrUnavailable, fault.ErrTimeout, fault.ErrUnknownOutcome} {
		if errors.Is(err, of) {
			return &fault.ServerError{Address: s.addressOf(partition), Err: err}
		}
	}
	return err
}

// addressOf is the address of the server that has a partition.
func (s *servers) addressOf(partition int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.known, func(of Server) bool { return slices.Contains(of.Partitions, partition) })
	return s.known[at].Address
}

// lost reads the map again in the background, because a server did not answer: it may have
// failed over.
func (s *servers) lost() {
	s.mu.Lock()
	due := s.reading == nil && time.Since(s.read) > lostPause
	s.mu.Unlock()
	if due {
		go func() { _ = s.reroute(context.Background()) }()
	}
}

// isElsewhere reports that a call had no effect because its partition is on another server:
// the guard says so, or the copy that was left behind is gone.
func isElsewhere(err error) bool { return fault.IsElsewhere(err) || fault.IsMoved(err) }
