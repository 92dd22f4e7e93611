package experiment

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/workload"
)

const (
	hashCallGroup = "HSet in one process"
	callHSet      = "Howdah, HSet"
	callSet       = "Howdah, Set"
	callRedis     = "go-redis, HSet"
)

// hashCallers are callers of the library.
var hashCallers = []int{1, 64, 256}

// hashCalls lets callers of one process store a field of a hash, beside plain sets of
// as many bytes.
func (b *Bench) hashCalls(ctx context.Context, r *result.Result) error {
	howdah, err := rival.NewHowdahClass(ctx, b.postgres.URL, "unlogged")
	if err != nil {
		return err
	}
	b.later(howdah.Close)
	goRedis, ok := rival.NewGoRedis(b.redis.Addr, 0).(rival.Hashes)
	if !ok {
		return fmt.Errorf("go-redis has no HSet")
	}
	b.later(goRedis.Close)
	if err := rival.Load(ctx, howdah, b.Workload); err != nil {
		return err
	}
	for _, of := range []rival.Hashes{howdah, goRedis} {
		if err := loadHashes(ctx, of, b.Workload.Keys); err != nil {
			return err
		}
	}
	ofHowdah, ofRedis := []part{client(), database(b.postgres.Process)}, []part{client(), server(b.redis.Process)}
	names := workload.NewSources(b.Workload, 1)[0]
	hashes := make([]string, b.Workload.Keys)
	for i := range hashes {
		hashes[i] = hashName(i)
	}
	field, value := element(3), []byte(strings.Repeat("w", elementSize))
	contestants := []struct {
		name  string
		parts []part
		do    func(ctx context.Context, src *workload.Source) error
	}{
		{callHSet, ofHowdah, func(ctx context.Context, src *workload.Source) error {
			return howdah.HSet(ctx, hashes[src.Next()], map[string][]byte{field: value})
		}},
		{callSet, ofHowdah, func(ctx context.Context, src *workload.Source) error {
			i := src.Next()
			return howdah.Set(ctx, names.Key(i), src.Value(i))
		}},
		{callRedis, ofRedis, func(ctx context.Context, src *workload.Source) error {
			return goRedis.HSet(ctx, hashes[src.Next()], map[string][]byte{field: value})
		}},
	}
	for _, callers := range hashCallers {
		which := strconv.Itoa(callers)
		sources := workload.NewSources(b.Workload, callers)
		err := b.turns(len(contestants), func(i int) error {
			c := contestants[i]
			m := newMeter(c.parts...)
			before := howdah.Counts()
			s, err := measure.Closed(ctx, m.attach(measure.Load{
				Workers: callers, Warmup: b.warmup(), Duration: b.Duration,
				Do: func(ctx context.Context, w int) error { return c.do(ctx, sources[w]) },
			}))
			if err != nil {
				return err
			}
			b.noteClosed(r, m, hashCallGroup, which, c.name, s)
			if c.name != callRedis {
				r.Add(hashCallGroup, which, c.name, batchSize, "keys", howdah.Counts().Since(before).BatchSize())
			}
			return nil
		})
		if err != nil {
			return err
		}
		least := leastHSet
		if callers == 1 {
			least = 0 // a load and a commit are two round trips
		}
		r.Compare(hashCallGroup, which, throughput, callHSet, callSet, least, false)
		r.Compare(hashCallGroup, which, throughput, callHSet, callRedis, 0, false)
	}
	return nil
}

func hashName(i int) string { return "hash" + strings.TrimPrefix(workload.Key(i), "key") }

// loadHashes stores ten fields in every hash.
func loadHashes(ctx context.Context, of rival.Hashes, keys int) error {
	fields := make(map[string][]byte, elements)
	for j := range elements {
		fields[element(j)] = []byte(strings.Repeat("v", elementSize))
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(64)
	for i := range keys {
		group.Go(func() error { return of.HSet(ctx, hashName(i), fields) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("loading hashes: %s: %w", of.Name(), err)
	}
	return nil
}

func collectionVerdicts(r *result.Result, _ []*result.Result) []result.Verdict {
	return []result.Verdict{hsetVerdict(r), nearHashVerdict(r)}
}

func hsetVerdict(r *result.Result) result.Verdict {
	var ours, words []string
	note := func(name, group, which, of, to string) {
		rounds := r.RatioOf(group, which, throughput, of, to)
		ours = append(ours, fmt.Sprintf("%s %.2f", name, result.Median(rounds)))
		words = append(words, result.AtLeast(rounds, leastHSet))
	}
	for _, clients := range collectionClients {
		note(clientCount(clients), "HSET", clientCount(clients), servedHowdah, besideSet)
	}
	for _, callers := range hashCallers[1:] {
		note(strconv.Itoa(callers)+" callers of the library", hashCallGroup, strconv.Itoa(callers), callHSet, callSet)
	}
	return result.Verdict{
		Claim: "A field of a small hash is stored at two thirds of the rate of a plain SET", Source: "Howdah's own promise",
		Ours:     "HSET to SET: " + strings.Join(ours, ", "),
		Bar:      fmt.Sprintf("at least %g, with 50 and 200 clients, and with 64 and 256 callers of the library", leastHSet),
		Word:     result.All(words...),
		Sentence: "An HSET is a read and a guarded write, each of which it shares with other calls; a lone caller waits for two round trips.",
	}
}

func nearHashVerdict(r *result.Result) result.Verdict {
	var ours, words []string
	for _, name := range []string{"HGET", "HGETALL"} {
		for _, clients := range collectionClients {
			rounds := r.RatioOf(name, clientCount(clients), throughput, servedNear, servedRedis)
			ours = append(ours, fmt.Sprintf("%s %s %.2f", name, clientCount(clients), result.Median(rounds)))
			words = append(words, result.AtLeast(rounds, leastNear))
		}
	}
	return result.Verdict{
		Claim: "Small hashes in memory are read about as fast as from redis-server", Source: "Howdah's own promise",
		Ours:     "rate to redis-server's: " + strings.Join(ours, ", "),
		Bar:      fmt.Sprintf("HGET and HGETALL at least %g times redis-server's rate, with 50 and 200 clients", leastNear),
		Word:     result.All(words...),
		Sentence: "A hit asks nothing of PostgreSQL; each unpacks what it reads.",
	}
}
