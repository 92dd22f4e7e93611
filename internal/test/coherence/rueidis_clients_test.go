//go:build clients && unix

package coherence

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// runRueidis reads by way of rueidis's cache until ctx ends. Two goroutines share a client, and
// one connection, so that what was sent before a reply has come with it.
func (k *keeper) runRueidis(ctx context.Context, t *testing.T, addr string) (wait func()) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, SelectDB: k.database, PipelineMultiplex: -1})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	var work sync.WaitGroup
	for i := range 2 {
		r := &rueidisReader{keeper: k, client: client, rng: rand.New(rand.NewPCG(uint64(k.process), uint64(i))), runs: map[int]*counted{}}
		work.Go(func() { r.work(ctx) })
	}
	return work.Wait
}

type rueidisReader struct {
	*keeper
	client rueidis.Client
	rng    *rand.Rand
	fence  int64
	runs   map[int]*counted
}

type counted struct {
	copies
	reads int64
}

func (r *rueidisReader) work(ctx context.Context) {
	for ctx.Err() == nil {
		sent := now()
		if err := r.client.Do(context.Background(), r.client.B().Ping().Build()).Error(); err == nil {
			r.fence = sent
		}
		for range 64 {
			r.read()
		}
		rest(ctx, 2*time.Millisecond)
	}
	for key := range r.runs {
		r.flush(key)
	}
}

func (r *rueidisReader) read() {
	mine := len(cachesOfRun) * 4
	if r.rng.IntN(2) == 0 {
		mine = keysOfRun
	}
	key := r.database + r.rng.IntN(mine/len(cachesOfRun))*len(cachesOfRun)
	m := moment{begin: now(), fence: r.fence}
	answered := r.client.DoCache(context.Background(), r.client.B().Get().Key(KeyName(key)).Cache(), time.Hour)
	m.end = now()
	text, err := answered.ToString()
	value := int64(Absent)
	if err == nil {
		value, err = ParseValue([]byte(text))
	}
	if err != nil && !rueidis.IsRedisNil(err) {
		return
	}
	hit := answered.IsCacheHit()
	run := r.runs[key]
	if run == nil || run.value != value || run.hit != hit {
		r.flush(key)
		run = &counted{copies: copies{key: key, value: value, hit: hit, first: m}}
		r.runs[key] = run
	}
	run.reads++
	run.last = m
}

func (r *rueidisReader) flush(key int) {
	if run := r.runs[key]; run != nil {
		r.note(run.copies, run.reads)
		delete(r.runs, key)
	}
}
