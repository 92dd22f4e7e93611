package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// collections measures commands on small hashes, lists, sets and sorted sets.
func collections() Experiment {
	return Experiment{
		Name:  "collections",
		Title: "Small hashes, lists, sets and sorted sets: howdah serve beside redis-server and redka, and the library's HSet beside its Set",
		Needs: []service.Program{service.Postgres, service.Redis, service.RedisBenchmark},
		Quick: 50 * time.Second, Full: 420 * time.Second,
		Run:   runCollections,
		Judge: collectionVerdicts,
	}
}

const (
	servedRedka = "redka"
	// besideSet is plain sets of the same server, in turns with a command.
	besideSet = servedHowdah + ", SET"

	collectionKeys = 10_000
	redkaKeys      = 1_000 // loading more takes minutes
	elements       = 10    // of each collection when a turn begins
	elementSize    = 20    // bytes, of a field's value too
	// packedSize is about what a hash of ten fields takes: the size of plain values.
	packedSize = 340

	// What is to be reached: of the plain set of the same run, and, by hits in memory,
	// of redis-server.
	leastHSet = 0.65
	leastNear = 0.85
)

// collectionClients are numbers of connections.
var collectionClients = []int{50, 200}

// element is a field, a member or an element; hashes, sets and sorted sets hold those
// from 0 on, and a command that adds one takes another.
func element(i int) string { return fmt.Sprintf("element-%0*d", elementSize-len("element-"), i) }

// added is an element that redis-benchmark chooses at random.
const added = "added-xx" + "__rand_int__"

// collectionCommand is one that redis-benchmark sends; keys have the prefix of their kind.
type collectionCommand struct {
	name  string
	words []string
	reads bool
	grows bool // the collection: it is made anew before each turn
}

func collectionCommands() []collectionCommand {
	value, plain := strings.Repeat("v", elementSize), strings.Repeat("p", packedSize)
	key := func(kind string) string { return kind + ":__rand_int__" }
	return []collectionCommand{
		{name: "SET", words: []string{"SET", key("key"), plain}},
		{name: "HSET", words: []string{"HSET", key("hash"), element(3), value}},
		{name: "SADD", words: []string{"SADD", key("set"), added}, grows: true},
		{name: "ZADD", words: []string{"ZADD", key("zset"), "5", added}, grows: true},
		{name: "LPUSH", words: []string{"LPUSH", key("list"), added}, grows: true},
		{name: "GET", words: []string{"GET", key("key")}, reads: true},
		{name: "HGET", words: []string{"HGET", key("hash"), element(3)}, reads: true},
		{name: "HGETALL", words: []string{"HGETALL", key("hash")}, reads: true},
	}
}

// collectionRate is about how much each server does in a second: a turn takes one.
func collectionRate(server string, reads bool) int {
	switch {
	case server == servedRedka && reads:
		return 5000
	case server == servedRedka:
		return 1500
	case server == servedHowdah && !reads:
		return 25_000
	case server == servedHowdah:
		return 40_000
	}
	return 70_000
}

func runCollections(ctx context.Context, b *Bench, r *result.Result) error {
	b.nearRounds()
	b.Workload.Keys, b.Workload.ValueSize = min(b.Workload.Keys, collectionKeys), packedSize
	servers, err := b.collectionServers(ctx, r)
	if err != nil {
		return err
	}
	r.Set("redis-benchmark", fmt.Sprintf("-r %d and the commands as they stand here, for about a second a turn; every key loaded before", b.Workload.Keys))
	r.Set("collections", fmt.Sprintf("%d elements or fields and values of %d bytes each; SADD, ZADD and LPUSH add to collections that were made anew before the turn", elements, elementSize))
	r.Set("plain values", fmt.Sprintf("%d bytes, as a packed hash has", packedSize))
	r.Set(servedHowdah, "without entries in memory, UNLOGGED cache, PostgreSQL by Unix socket")
	r.Set(servedNear, fmt.Sprintf("bound %v; reads only", nearBound))
	for _, clients := range collectionClients {
		for _, cmd := range collectionCommands() {
			if err := b.collectionTurns(ctx, r, servers, cmd, clients); err != nil {
				return err
			}
		}
	}
	for _, clients := range collectionClients {
		which := clientCount(clients)
		r.Compare("HSET", which, throughput, servedHowdah, besideSet, leastHSet, false)
		for _, cmd := range collectionCommands() {
			r.Compare(cmd.name, which, throughput, servedHowdah, servedRedis, 0, false)
			r.Compare(cmd.name, which, throughput, servedHowdah, servedRedka, 0, false)
		}
		for _, name := range []string{"HGET", "HGETALL"} {
			r.Compare(name, which, throughput, servedNear, servedRedis, leastNear, false)
		}
		r.Compare("GET", which, throughput, servedNear, servedRedis, 0, false)
	}
	return b.hashCalls(ctx, r)
}

// collectionTurns measures one command on all servers that take part.
func (b *Bench) collectionTurns(ctx context.Context, r *result.Result, servers []served, cmd collectionCommand, clients int) error {
	var turns []asking
	for _, s := range servers {
		if s.name == servedNear && !cmd.reads {
			continue
		}
		turns = append(turns, asking{series: s.name, server: s, command: cmd.words})
		if s.name == servedHowdah && cmd.name == "HSET" {
			turns = append(turns, asking{series: besideSet, server: s, command: collectionCommands()[0].words})
		}
	}
	gaveUp := false
	return b.turns(len(turns), func(i int) error {
		a := turns[i]
		if a.server.name == servedRedka && gaveUp {
			return nil
		}
		if cmd.grows && a.server.name != servedRedka { // which is too slow for much growth
			if err := loadCollections(ctx, a.server.addr, b.Workload.Keys, strings.ToLower(cmd.name)); err != nil {
				return err
			}
		}
		a.group, a.which, a.clients, a.depth = cmd.name, clientCount(clients), clients, 1
		a.requests = collectionRate(a.server.name, cmd.reads) / b.scale(1, 5)
		if a.unknown = a.server.name == servedRedka; a.unknown {
			a.keys = min(redkaKeys, b.Workload.Keys)
		}
		switch a.series {
		case servedNear:
		case servedRedka: // it may be too slow for its own timeouts
			if err := b.ask(ctx, r, a); err != nil {
				gaveUp = true
				r.Notes = append(r.Notes, fmt.Sprintf("redka did not serve %s with %s to the end: %s.", cmd.name, a.which, saidBy(err)))
			}
			return nil
		default:
			return b.ask(ctx, r, a)
		}
		return b.countMemory(ctx, r, a.server, a.group, a.which, func() error { return b.ask(ctx, r, a) })
	})
}

// collectionServers starts the servers and loads them.
func (b *Bench) collectionServers(ctx context.Context, r *result.Result) ([]served, error) {
	servers, err := b.nearServers(ctx)
	if err != nil {
		return nil, err
	}
	if redka, err := b.redka(ctx); err != nil {
		b.Progress("without redka: %v", err)
		r.Notes = append(r.Notes, fmt.Sprintf("redka was left out: %v.", err))
	} else {
		servers = append(servers, redka)
		r.Set(servedRedka, fmt.Sprintf("its defaults, LOGGED tables, PostgreSQL by TCP; %d of the keys", min(redkaKeys, b.Workload.Keys)))
	}
	for _, s := range servers {
		b.Progress("loading collections: %s", s.name)
		keys := b.Workload.Keys
		if s.name == servedRedka {
			keys = min(redkaKeys, keys)
		}
		for _, command := range []string{"hset", "sadd", "zadd", "lpush"} {
			if err := loadCollections(ctx, s.addr, keys, command); err != nil {
				return nil, fmt.Errorf("loading %s: %w", s.name, err)
			}
		}
	}
	i := slices.IndexFunc(servers, func(s served) bool { return s.name == servedNear })
	return servers, warmHashes(ctx, servers[i].addr, b.Workload.Keys)
}

// redka starts redka on a database of its own, and loads the plain values.
func (b *Bench) redka(ctx context.Context) (served, error) {
	if _, err := service.Redka.Find(); err != nil {
		return served{}, err
	}
	url, err := b.newDatabase(ctx, b.postgres.URL, "redka")
	if err != nil {
		return served{}, err
	}
	s, err := service.StartRedka(ctx, url)
	if err != nil {
		return served{}, err
	}
	b.versions["redka"] = s.Version
	b.later(s.Stop)
	goRedis := rival.NewGoRedis(s.Addr, 64)
	defer goRedis.Close()
	spec := b.Workload
	spec.Keys = min(redkaKeys, spec.Keys)
	return served{servedRedka, s.Addr, []part{server(s.Process), database(b.postgres.Process)}}, rival.Load(ctx, goRedis, spec)
}

// saidBy is what a server answered that ended redis-benchmark.
func saidBy(err error) string {
	for line := range strings.Lines(err.Error()) {
		if strings.HasPrefix(line, "Error from server") {
			return strings.TrimSpace(line)
		}
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}

// loadBatch is how many collections are loaded with one pipeline.
const loadBatch = 100

// loadCollections makes the collections anew to which a command adds.
func loadCollections(ctx context.Context, addr string, keys int, command string) error {
	o := rival.RedisOptions(addr)
	o.ReadTimeout = time.Minute // a slow server may take its time for a pipeline
	c := redis.NewClient(o)
	defer c.Close()
	return inPipelines(ctx, c, keys, func(p redis.Pipeliner, i int) { loadCollection(ctx, p, command, i) })
}

// inPipelines sends commands for every key, those of loadBatch keys together.
func inPipelines(ctx context.Context, c *redis.Client, keys int, add func(p redis.Pipeliner, i int)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for first := 0; first < keys; first += loadBatch {
		group.Go(func() error {
			_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
				for i := first; i < min(first+loadBatch, keys); i++ {
					add(p, i)
				}
				return nil
			})
			return err
		})
	}
	return group.Wait()
}

// loadCollection makes one collection anew.
func loadCollection(ctx context.Context, p redis.Pipeliner, command string, i int) {
	kind := map[string]string{"hset": "hash", "sadd": "set", "zadd": "zset", "lpush": "list"}[command]
	key := kind + strings.TrimPrefix(workload.Key(i), "key")
	words := []any{command, key}
	p.Del(ctx, key)
	for j := range elements {
		switch kind {
		case "hash":
			words = append(words, element(j), strings.Repeat("v", elementSize))
		case "zset":
			words = append(words, j, element(j))
		case "set":
			words = append(words, element(j))
		case "list":
			p.LPush(ctx, key, element(j)) // redka takes one at a time
		}
	}
	if kind != "list" {
		p.Do(ctx, words...)
	}
}

// warmHashes reads every hash until memory answers nearly all.
func warmHashes(ctx context.Context, addr string, keys int) error {
	c := redis.NewClient(rival.RedisOptions(addr))
	defer c.Close()
	for begun := time.Now(); time.Since(begun) < time.Minute; {
		before, err := memoryOf(ctx, addr)
		if err != nil {
			return err
		}
		err = inPipelines(ctx, c, keys, func(p redis.Pipeliner, i int) { p.HGet(ctx, hashName(i), element(3)) })
		if err != nil {
			return err
		}
		after, err := memoryOf(ctx, addr)
		if err != nil {
			return err
		}
		if after.hits-before.hits >= 0.99*float64(keys) {
			return nil
		}
	}
	return fmt.Errorf("memory does not answer the hashes after a minute of reading them")
}
