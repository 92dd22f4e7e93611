package bus

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// benchURL names a database with the schema on a disk of its own; those of pgtest are in
// memory, where a commit waits for no disk.
var benchURL = flag.String("bus.url", "", "database for the benchmarks; default: a new one in memory")

func benchDatabase(b *testing.B) string {
	if *benchURL != "" {
		return *benchURL
	}
	return pgtest.Own(b).NewURL()
}

// stopwatch takes messages that carry the time at which they were published.
type stopwatch struct {
	began time.Time
	mu    sync.Mutex
	took  []time.Duration
	want  int
	all   chan struct{} // closed when so many have come
}

func newStopwatch(want int) *stopwatch {
	return &stopwatch{began: time.Now(), want: want, all: make(chan struct{})}
}

func (s *stopwatch) message() Message {
	payload := make([]byte, 100)
	binary.BigEndian.PutUint64(payload, uint64(time.Since(s.began)))
	return Message{Published, []byte("channel"), payload}
}

func (s *stopwatch) deliver(m Message) {
	took := time.Since(s.began) - time.Duration(binary.BigEndian.Uint64(m.Payload))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.took = append(s.took, took)
	if len(s.took) == s.want {
		close(s.all)
	}
}

// report gives the percentiles of the time from Publish to the other process.
func (s *stopwatch) report(b *testing.B) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.Sort(s.took)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(s.took[len(s.took)*p/100].Microseconds())/1000, fmt.Sprintf("p%d-ms", p))
	}
}

// pair is a process that publishes and one that receives; listen as for start.
func pair(b *testing.B, url, listen string, deliver func(Message)) (publisher, subscriber *process) {
	publisher, subscriber = start(b, url, ""), newProcess(b, url, listen)
	subscriber.options.Deliver = deliver
	subscriber.run()
	subscriber.subscribe(Published)
	if listen != "none" {
		eventually(b, "notifications arrive", func() bool { return subscriber.Stats().Listening })
	}
	return publisher, subscriber
}

var ways = []struct{ name, listen string }{{"notified", ""}, {"polling", "none"}}

// BenchmarkPublish publishes b.N messages of 100 bytes as fast as it can, and ends when
// all have come to the other process.
func BenchmarkPublish(b *testing.B) {
	url := benchDatabase(b)
	for _, way := range ways {
		for _, publishers := range []int{1, 16, 200} {
			b.Run(fmt.Sprint(way.name, "/publishers=", publishers), func(b *testing.B) {
				watch := newStopwatch(b.N)
				publisher, subscriber := pair(b, url, way.listen, watch.deliver)
				defer publisher.stop()
				defer subscriber.stop()
				var left atomic.Int64
				left.Store(int64(b.N))
				var working sync.WaitGroup
				b.ResetTimer()
				for range publishers {
					working.Go(func() {
						for left.Add(-1) >= 0 {
							if err := publisher.publishOne(context.Background(), watch.message()); err != nil {
								b.Error(err)
							}
						}
					})
				}
				working.Wait()
				<-watch.all
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
				b.ReportMetric(one[float64](b, connect(b, url), "SELECT pg_total_relation_size('howdah_internal.bus') / 1048576.0::float8"), "table-MiB")
				b.ReportMetric(float64(publisher.Stats().Flights), "statements")
				b.ReportMetric(float64(subscriber.Stats().Polls), "polls")
				watch.report(b)
			})
		}
	}
}

// pace publishes so many messages a second until ctx ends.
func pace(ctx context.Context, b *testing.B, publisher *process, watch *stopwatch, rate int) {
	const publishers = 16
	began := time.Now()
	var working sync.WaitGroup
	for range publishers {
		working.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				due := began.Add(time.Duration(n) * time.Second * publishers / time.Duration(rate))
				time.Sleep(time.Until(due))
				if err := publisher.publishOne(context.Background(), watch.message()); err != nil {
					b.Error(err)
				}
			}
		})
	}
	working.Wait()
}

// BenchmarkPaced is the latency at 10,000 messages a second, for five seconds.
func BenchmarkPaced(b *testing.B) {
	url := benchDatabase(b)
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				watch := newStopwatch(-1)
				publisher, subscriber := pair(b, url, way.listen, watch.deliver)
				ctx, cancel := context.WithTimeout(b.Context(), 5*time.Second)
				began := time.Now()
				pace(ctx, b, publisher, watch, 10_000)
				b.ReportMetric(float64(publisher.Stats().Sent)/time.Since(began).Seconds(), "messages/s")
				cancel()
				eventually(b, "all have come", func() bool { return subscriber.Stats().Received == publisher.Stats().Sent })
				watch.report(b)
				publisher.stop()
				subscriber.stop()
			}
		})
	}
}

// BenchmarkCommitsBeside is the throughput of 16 clients that commit rows of their own,
// with fsync, beside 10,000 messages a second.
func BenchmarkCommitsBeside(b *testing.B) {
	url := benchDatabase(b)
	config, err := pgxpool.ParseConfig(url)
	require.NoError(b, err)
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	require.NoError(b, err)
	defer pool.Close()
	_, err = pool.Exec(b.Context(), "CREATE TABLE IF NOT EXISTS orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text)")
	require.NoError(b, err)
	for _, way := range slices.Concat(ways, ways, ways, ways, ways) {
		b.Run(way.name, func(b *testing.B) {
			for b.Loop() {
				watch := newStopwatch(-1)
				publisher, subscriber := pair(b, url, way.listen, watch.deliver)
				ctx, cancel := context.WithTimeout(b.Context(), 4*time.Second)
				var working sync.WaitGroup
				working.Go(func() { pace(ctx, b, publisher, watch, 10_000) })
				var commits atomic.Int64
				began := time.Now()
				for range 16 {
					working.Go(func() {
						for ctx.Err() == nil {
							if _, err := pool.Exec(context.Background(), "INSERT INTO orders (note) VALUES (repeat('x', 100))"); err != nil {
								b.Error(err)
							}
							commits.Add(1)
						}
					})
				}
				working.Wait()
				elapsed := time.Since(began).Seconds()
				cancel()
				b.ReportMetric(float64(commits.Load())/elapsed, "commits/s")
				b.ReportMetric(float64(publisher.Stats().Sent)/elapsed, "messages/s")
				publisher.stop()
				subscriber.stop()
			}
		})
	}
}
