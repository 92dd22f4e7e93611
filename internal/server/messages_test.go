package server

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMessages has many clients subscribe and publish: each message reaches each subscriber of
// its channel once, in the order of its publisher.
func TestMessages(t *testing.T) {
	t.Parallel()
	drivers(t, func(t *testing.T, configure func(*Config)) {
		s := start(t, configure)
		const channels, publishers, messages = 20, 4, 150
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		client := s.client()
		var readers, writers sync.WaitGroup
		for i := range channels {
			channel := fmt.Sprintf("c%d", i)
			for range 1 + i%3 {
				subscription := client.Subscribe(ctx, channel)
				defer subscription.Close()
				_, err := subscription.Receive(ctx)
				require.NoError(t, err)
				readers.Go(func() {
					var last [publishers]int
					for range publishers * messages {
						m, err := subscription.ReceiveMessage(ctx)
						if err != nil {
							t.Error(err)
							return
						}
						var publisher, n int
						fmt.Sscan(m.Payload, &publisher, &n)
						if m.Channel != channel || n != last[publisher]+1 {
							t.Errorf("%s on %s after %d", m.Payload, m.Channel, last[publisher])
							return
						}
						last[publisher] = n
					}
				})
			}
		}
		for p := range publishers {
			writers.Go(func() {
				pipe := client.Pipeline()
				for n := range messages {
					for i := range channels {
						pipe.Publish(ctx, fmt.Sprintf("c%d", i), fmt.Sprintf("%d %d", p, n+1))
					}
					if n%10 == 9 {
						if _, err := pipe.Exec(ctx); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		writers.Wait()
		readers.Wait()
		require.NoError(t, client.Close())
	})
}

// A subscriber that does not read is closed at the limit, and the others get everything.
func TestSubscriberThatDoesNotRead(t *testing.T) {
	t.Parallel()
	drivers(t, func(t *testing.T, configure func(*Config)) {
		s := start(t, configure)
		c, slow, fast := s.dial(), s.dial(), s.dial()
		for _, subscriber := range []*rawConn{slow, fast} {
			subscriber.send("SUBSCRIBE", "c")
			subscriber.reply()
		}
		c.send("CONFIG", "SET", "client-output-buffer-limit", "pubsub 1mb 0 0")
		require.Equal(t, "OK", string(c.reply().Str))
		text := strings.Repeat("m", 64<<10)
		for n := 0; ; n++ {
			require.Less(t, n, 10_000, "the slow subscriber is still there")
			c.send("PUBLISH", "c", text)
			receivers := c.reply().Int
			require.Equal(t, text, string(fast.reply().Elems[2].Str))
			if receivers == 1 {
				break
			}
		}
		require.Eventually(t, func() bool { // once its connection is closed
			_, metrics := s.get("/metrics", "")
			return strings.Contains(metrics, "\nhowdah_redis_subscribers_cut_total 1\n") &&
				strings.Contains(metrics, "\nhowdah_redis_subscribers 1\n") &&
				strings.Contains(metrics, "\nhowdah_pubsub_subscriptions{kind=\"channel\"} 1\n")
		}, patience, 10*time.Millisecond)
		fast.send("UNSUBSCRIBE")
		require.Equal(t, "unsubscribe", string(fast.reply().Elems[0].Str))
	})
}

// Subscribers, idle or in the middle of a flood, do not hold a shutdown up.
func TestShutdownWithSubscribers(t *testing.T) {
	t.Parallel()
	drivers(t, func(t *testing.T, configure func(*Config)) {
		s := start(t, configure)
		for range 3 {
			subscriber := s.dial()
			subscriber.send("SUBSCRIBE", "c")
			subscriber.reply()
			go func() {
				for {
					if _, err := subscriber.in.Discard(1); err != nil {
						return
					}
				}
			}()
			idle := s.dial()
			idle.send("PSUBSCRIBE", "other*")
			idle.reply()
		}
		flooded := make(chan struct{})
		for range 2 {
			publisher := s.dial()
			go func() {
				for n := 0; ; n++ {
					if n == 1000 {
						flooded <- struct{}{}
					}
					if _, err := publisher.Write([]byte("PUBLISH c message\r\n")); err != nil {
						return
					}
				}
			}()
			go func() {
				for {
					if _, err := publisher.in.Discard(1); err != nil {
						return
					}
				}
			}()
		}
		<-flooded
		<-flooded
		require.NoError(t, s.stop())
	})
}

// In RESP2 a subscriber may not read, whether or not memory knows the answer.
func TestSubscriberReadsNothing(t *testing.T) {
	t.Parallel()
	s := startNear(t, logged(t), time.Second)
	c := s.dial()
	c.send("SET", "k", "v")
	c.reply()
	for range 3 {
		c.send("GET", "k")
		require.Equal(t, "v", string(c.reply().Str))
	}
	c.send("SUBSCRIBE", "c")
	c.reply()
	c.send("GET", "k")
	require.Contains(t, string(c.reply().Str), "Can't execute 'get'")
}
