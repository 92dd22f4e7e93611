//go:build clients

package server

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// rueidisDatabase is the database of checkRueidis, whose cache needs a change log.
const rueidisDatabase = 13

// checkRueidis runs rueidis with its default settings, which cache on the client's side,
// against two servers of one database: what it keeps is dropped when another client, the
// other server or SQL writes it. sql writes a value; nil: there is no PostgreSQL.
func checkRueidis(t *testing.T, one, other string, sql func(key, value string)) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	connect := func(address string) rueidis.Client {
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}, SelectDB: rueidisDatabase})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c
	}
	for _, address := range []string{one, other} {
		c, writer := connect(one), connect(address)
		require.NoError(t, writer.Do(ctx, writer.B().Flushdb().Build()).Error())
		rueidisKeeps(ctx, t, c, writer)
		rueidisForgets(ctx, t, c, writer, sql)
		rueidisCounts(ctx, t, c, writer)
		rueidisListens(ctx, t, c, writer)
	}
}

// checkRueidisWithoutLog runs rueidis, which asks for tracking when it connects, against a cache without a change log: it
// connects, and works as without a cache.
func checkRueidisWithoutLog(t *testing.T, one, other string, database int) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	connect := func(address string) rueidis.Client {
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}, SelectDB: database})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c
	}
	c, writer := connect(one), connect(other)
	for i := range 20 {
		value := strconv.Itoa(i)
		require.NoError(t, writer.Do(ctx, writer.B().Set().Key("k").Value(value).Build()).Error())
		becomes(ctx, t, c, "k", value)
	}
	tracking, err := c.Do(ctx, c.B().ClientTrackinginfo().Build()).AsMap()
	require.NoError(t, err)
	flags := tracking["flags"]
	list, err := flags.AsStrSlice()
	require.NoError(t, err)
	require.Contains(t, list, "on", "rueidis did not ask for tracking")
}

// cached reads a key by way of the client's memory, "" if it is absent, and says whether
// the value was there.
func cached(ctx context.Context, t *testing.T, c rueidis.Client, key string) (value string, hit bool) {
	t.Helper()
	r := c.DoCache(ctx, c.B().Get().Key(key).Cache(), time.Hour)
	if !rueidis.IsRedisNil(r.Error()) {
		require.NoError(t, r.Error())
	}
	value, _ = r.ToString()
	return value, r.IsCacheHit()
}

// becomes waits until a cached read answers a value.
func becomes(ctx context.Context, t *testing.T, c rueidis.Client, key, want string) {
	t.Helper()
	var got string
	require.Eventually(t, func() bool { got, _ = cached(ctx, t, c, key); return got == want }, time.Minute, 2*time.Millisecond, "%s is not %q", key, want)
}

func rueidisKeeps(ctx context.Context, t *testing.T, c, writer rueidis.Client) {
	require.NoError(t, writer.Do(ctx, writer.B().Set().Key("k").Value("1").Build()).Error())
	becomes(ctx, t, c, "k", "1")
	require.Eventually(t, func() bool { _, hit := cached(ctx, t, c, "k"); return hit }, time.Minute, 2*time.Millisecond)
	require.NoError(t, writer.Do(ctx, writer.B().Hset().Key("h").FieldValue().FieldValue("f", "1").Build()).Error())
	for _, r := range c.DoMultiCache(ctx, rueidis.CT(c.B().Get().Key("k").Cache(), time.Minute), rueidis.CT(c.B().Hget().Key("h").Field("f").Cache(), time.Minute)) {
		value, err := r.ToString()
		require.NoError(t, err)
		require.Equal(t, "1", value)
	}
	values, err := rueidis.MGetCache(c, ctx, time.Minute, []string{"k", "absent"})
	require.NoError(t, err)
	require.Len(t, values, 2)
}

func rueidisForgets(ctx context.Context, t *testing.T, c, writer rueidis.Client, sql func(key, value string)) {
	for want, write := range map[string]rueidis.Completed{
		"2": writer.B().Set().Key("k").Value("2").Build(),
		"3": writer.B().Eval().Script("return redis.call('SET', KEYS[1], '3')").Numkeys(1).Key("k").Build(),
		"":  writer.B().Del().Key("k").Build(),
	} {
		cached(ctx, t, c, "k")
		require.NoError(t, writer.Do(ctx, write).Error())
		becomes(ctx, t, c, "k", want)
	}
	if sql != nil {
		for _, value := range []string{"from SQL", "twice"} {
			cached(ctx, t, c, "k")
			sql("k", value)
			becomes(ctx, t, c, "k", value)
		}
	}
	require.NoError(t, writer.Do(ctx, writer.B().Set().Key("k").Value("kept").Build()).Error())
	becomes(ctx, t, c, "k", "kept")
	require.NoError(t, writer.Do(ctx, writer.B().Flushdb().Build()).Error())
	becomes(ctx, t, c, "k", "")
}

// rueidisCounts reads a count while another client raises it: it never falls, and ends at
// its last value.
func rueidisCounts(ctx context.Context, t *testing.T, c, writer rueidis.Client) {
	const last = 300
	require.NoError(t, writer.Do(ctx, writer.B().Set().Key("count").Value("0").Build()).Error())
	becomes(ctx, t, c, "count", "0")
	failed := make(chan error, 1)
	go func() {
		defer close(failed)
		for range last {
			if err := writer.Do(ctx, writer.B().Incr().Key("count").Build()).Error(); err != nil {
				failed <- err
				return
			}
		}
	}()
	seen := 0
	require.Eventually(t, func() bool {
		value, _ := cached(ctx, t, c, "count")
		n, err := strconv.Atoi(value)
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, seen, "the count fell")
		seen = n
		return n == last
	}, time.Minute, time.Millisecond)
	require.NoError(t, <-failed)
}

// rueidisListens subscribes on the connection that also caches.
func rueidisListens(ctx context.Context, t *testing.T, c, publisher rueidis.Client) {
	const messages = 100
	listening, ended := make(chan struct{}), make(chan error, 1)
	ctx, cancel := context.WithCancel(rueidis.WithOnSubscriptionHook(ctx, func(s rueidis.PubSubSubscription) {
		if s.Kind == "subscribe" {
			close(listening)
		}
	}))
	defer cancel()
	got := make(chan string, messages)
	go func() {
		ended <- c.Receive(ctx, c.B().Subscribe().Channel("go").Build(), func(m rueidis.PubSubMessage) { got <- m.Message })
	}()
	select {
	case <-listening:
	case err := <-ended:
		t.Fatalf("the subscription ended: %v", err)
	}
	for i := range messages {
		require.NoError(t, publisher.Do(ctx, publisher.B().Publish().Channel("go").Message(fmt.Sprint(i)).Build()).Error())
	}
	for i := range messages {
		select {
		case m := <-got:
			require.Equal(t, fmt.Sprint(i), m)
		case <-ctx.Done():
			t.Fatalf("message %d did not come", i)
		}
	}
	becomes(ctx, t, c, "count", "300")
	cancel()
	<-ended
}
