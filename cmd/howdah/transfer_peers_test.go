//go:build peers

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/test/peers"
	"github.com/howdah/howdah/internal/test/pgtest"
	"github.com/howdah/howdah/internal/test/seed"
)

var millionKeys = flag.Int("transfer.keys", 0, "keys of TestMillionKeys; 0: it is left out")

// startRedis starts a redis-server that the test's end stops, and returns its address.
func startRedis(t *testing.T, args ...string) (addr string) {
	t.Helper()
	return peers.Redis(t, args...).Addr
}

func redisClient(t *testing.T, o *redis.Options) *redis.Client {
	t.Helper()
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// fillRedis stores keys of all types, a third of them with a TTL.
func fillRedis(t *testing.T, c *redis.Client, n int) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for first := 0; first < n; first += 5000 {
		pipe := c.Pipeline()
		for i := first; i < min(n, first+5000); i++ {
			key, text := "key:"+strconv.Itoa(i), strings.Repeat("v", 50+i%300)+strconv.Itoa(i)
			switch i % 10 {
			case 0:
				pipe.HSet(ctx, key, "name", text, "count", i, "bytes", "\xff\x00")
			case 1:
				pipe.RPush(ctx, key, text, i, "x")
			case 2:
				pipe.SAdd(ctx, key, i, i+1, text)
			case 3:
				pipe.ZAdd(ctx, key, redis.Z{Score: float64(i) / 3, Member: text}, redis.Z{Score: 1, Member: "b"})
			default:
				pipe.Set(ctx, key, text, 0)
			}
			if i%3 == 0 {
				pipe.PExpire(ctx, key, time.Hour+time.Duration(i)*time.Millisecond)
			}
		}
		_, err := pipe.Exec(ctx)
		require.NoError(t, err)
	}
}

// writeOn changes, adds and deletes keys until the function that it returns is called, which
// returns how many were.
func writeOn(t *testing.T, c *redis.Client, keys int, pause time.Duration) (stop func() int) {
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan int, 1)
	g := rand.New(rand.NewPCG(seed.Of(t), 1))
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			key := "key:" + strconv.Itoa(g.IntN(keys+keys/20))
			var err error
			switch g.IntN(4) {
			case 0:
				err = c.Del(ctx, key).Err()
			case 1:
				err = c.Expire(ctx, key, 2*time.Hour).Err()
			default:
				err = c.Set(ctx, key, fmt.Sprint("new ", n), 0).Err()
			}
			if err != nil && ctx.Err() == nil {
				t.Errorf("writing to redis-server: %v", err)
				break
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
		written <- n
	}()
	return func() int { cancel(); return <-written }
}

// killAfter starts an import and ends it with SIGKILL when its state says that so many keys
// are done. It reports whether the import had ended before.
func killAfter(t *testing.T, env []string, state string, keys int64, args ...string) (ended bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(cleanEnvironment(), env...)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			require.NoError(t, err, "the import failed")
			return true
		case <-time.After(time.Millisecond):
		}
		if doneKeys(t, state) >= keys {
			_ = cmd.Process.Kill()
			<-done
			return false
		}
	}
}

// doneKeys is how many keys a state file says are done.
func doneKeys(t *testing.T, file string) int64 {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	require.NoError(t, err)
	var s struct{ Counts struct{ Keys int64 } }
	require.NoError(t, json.Unmarshal(text, &s), "the state is never half written")
	return s.Counts.Keys
}

// An import that is killed twice and goes on copies what an undisturbed one does.
func TestKilledImport(t *testing.T) {
	t.Parallel()
	const keys = 20_000
	addr := startRedis(t)
	fillRedis(t, redisClient(t, &redis.Options{Addr: addr}), keys)
	env := []string{"HOWDAH_DATABASE_URL=" + pgtest.New(t)}
	state := filepath.Join(t.TempDir(), "state")
	args := []string{"import", "redis://" + addr, "--state", state, "--page", "100"}
	g := rand.New(rand.NewPCG(seed.Of(t), 1))
	at := int64(0)
	for kills := range 2 {
		at += 1 + g.Int64N(keys/3)
		if killAfter(t, env, state, at, append(args, "--rate", "5000")...) { // slow enough to be met alive
			t.Fatalf("the import came to its end before kill %d, at %d keys", kills+1, at)
		}
		require.FileExists(t, state)
	}
	r := succeed(t, "", env, args...)
	require.Contains(t, r.err, "going on from")
	require.NoFileExists(t, state)
	r = succeed(t, "", env, append(args, "--verify")...)
	require.Contains(t, r.out, "20000 equal, 0 missing, 0 different; 0 keys of the cache")
}

func TestImportWithTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := certificate(t)
	addr := peers.Start(t, "redis-server", peers.Says("Ready to accept connections"), func(port string) []string {
		return []string{"--port", "0", "--tls-port", port, "--bind", "127.0.0.1", "--save", "", "--dir", dir,
			"--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert}
	}).Addr
	env := []string{"HOWDAH_DATABASE_URL=" + pgtest.New(t)}
	state := filepath.Join(dir, "state")
	succeed(t, "", env, "import", "rediss://"+addr, "--state", state, "--ca-file", cert, "--cert-file", cert, "--key-file", key)
	r := execute(t, "", env, "import", "rediss://"+addr, "--state", state)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "certificate")
	require.Equal(t, exitUsage, execute(t, "", env, "import", "redis://"+addr, "--ca-file", cert).code)
	require.Equal(t, exitUsage, execute(t, "", env, "import", "rediss://"+addr, "--ca-file", key).code)
}

// A node of a cluster has a part of the keys, which must be known to who copies it.
func TestImportFromACluster(t *testing.T) {
	t.Parallel()
	addr := startRedis(t, "--cluster-enabled", "yes")
	c := redisClient(t, &redis.Options{Addr: addr})
	require.NoError(t, c.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err())
	require.Eventually(t, func() bool { return c.Set(t.Context(), "k", "v", 0).Err() == nil }, time.Minute, 20*time.Millisecond)
	env := []string{"HOWDAH_DATABASE_URL=" + pgtest.New(t)}
	args := []string{"import", "redis://" + addr, "--state", filepath.Join(t.TempDir(), "state")}
	r := execute(t, "", env, args...)
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.err, "--one-node")
	require.Contains(t, succeed(t, "", env, append(args, "--one-node")...).out, "1 stored")
	r = execute(t, "", nil, "compare", "redis://"+addr)
	require.Contains(t, r.out, "with --redis-cluster every howdah serve is a cluster of one node")
	require.NotContains(t, r.out, "LACKING")
	require.Contains(t, r.out, "howdah serve --database-url postgres://... --redis-cluster\n")
}

func TestCompareWithRedis(t *testing.T) {
	t.Parallel()
	addr := startRedis(t, "--requirepass", "secret", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lfu", "--appendonly", "yes", "--notify-keyspace-events", "Ex")
	url := "redis://:secret@" + addr
	c := redisClient(t, &redis.Options{Addr: addr, Password: "secret", DB: 2, Protocol: 2, DisableIdentity: true})
	require.NoError(t, c.Set(t.Context(), "k", "v", 0).Err())
	require.NoError(t, c.Do(t.Context(), "SLOWLOG", "LEN").Err())
	r := succeed(t, "", nil, "compare", url)
	require.Contains(t, r.out, "Howdah has every command")
	for _, text := range []string{
		"howdah caches create db2 --durability async --max-bytes 104857600 --eviction allkeys-lfu",
		"CONFIG SET notify-keyspace-events", "--password-file",
	} {
		require.Contains(t, r.out, text)
	}
	require.NoError(t, c.XAdd(t.Context(), &redis.XAddArgs{Stream: "s", Values: []string{"a", "b"}}).Err())
	require.NoError(t, c.GeoAdd(t.Context(), "g", &redis.GeoLocation{Name: "x", Longitude: 1, Latitude: 2}).Err())
	r = execute(t, "", nil, "compare", url)
	require.Equal(t, exitFailed, r.code)
	require.Regexp(t, `Howdah lacks +CALLS +SHARE`, r.out)
	require.Regexp(t, `XADD +1 `, r.out)
	require.Regexp(t, `GEOADD +1 `, r.out)
	r = execute(t, "", nil, "compare", "redis://"+addr)
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "asks for a password")
	require.Equal(t, exitUsage, execute(t, "", nil, "compare", "http://"+addr).code)
}

// TestMillionKeys copies many keys of all types while clients write to them, killed twice, and
// then says what the second pass found. It is left out unless -transfer.keys asks for it.
func TestMillionKeys(t *testing.T) {
	t.Parallel()
	keys := *millionKeys
	if keys == 0 {
		t.Skip("-transfer.keys=1000000 runs it")
	}
	addr := startRedis(t)
	c := redisClient(t, &redis.Options{Addr: addr})
	fillRedis(t, c, keys)
	env := []string{"HOWDAH_DATABASE_URL=" + pgtest.New(t)}
	state := filepath.Join(t.TempDir(), "state")
	args := []string{"import", "redis://" + addr, "--state", state}
	run := func(args ...string) {
		t.Helper()
		began := time.Now()
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(cleanEnvironment(), env...)
		out, err := cmd.CombinedOutput()
		usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		t.Logf("howdah %s: %v, %d MiB at most, %v of processor\n%s", strings.Join(args, " "), time.Since(began).Round(100*time.Millisecond),
			usage.Maxrss>>10, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), out)
		require.NoError(t, err)
	}
	run(append(args, "--dry-run")...)
	stop := writeOn(t, c, keys, 500*time.Microsecond)
	g := rand.New(rand.NewPCG(seed.Of(t), 2))
	for kill := range int64(2) {
		require.False(t, killAfter(t, env, state, (kill+1)*int64(keys)/3+g.Int64N(int64(keys)/10), args...))
		t.Logf("killed after %d keys", doneKeys(t, state))
	}
	run(args...)
	t.Logf("%d writes went on meanwhile", stop())
	run(append(args, "--verify", "--repair", "--delete")...)
	run(append(args, "--verify")...)
}

// What does not fit is named with its size and the limit, before the move and in its dry run; the list is bounded.
func TestKeysThatDoNotFit(t *testing.T) {
	t.Parallel()
	addr := startRedis(t)
	c := redisClient(t, &redis.Options{Addr: addr})
	ctx := t.Context()
	require.NoError(t, c.Set(ctx, "small", "v", 0).Err())
	require.NoError(t, c.RPush(ctx, "queue", strings.Repeat("x", 3<<20)).Err())
	require.NoError(t, c.HSet(ctx, "just", "f", strings.Repeat("x", 1<<20)).Err())
	const fits = "\nHowdah can hold every key that was looked at.\n"
	r := execute(t, "", nil, "compare", "redis://"+addr)
	require.Equal(t, exitFailed, r.code)
	require.NotContains(t, r.out, fits)
	require.Regexp(t, `(?m)^  db0 list +"queue" +the value is too large: 3\.0 MiB, the limit is 1\.0 MiB$`, r.out)
	require.Regexp(t, `(?m)^  db0 hash +"just" +the value is too large: 10485\d\d bytes, the limit is 1048576$`, r.out)
	require.NotContains(t, r.out, "8.4")
	require.NotContains(t, r.out, "\n  SET ", "nothing differs in a plain SET")

	for i := range 25 {
		require.NoError(t, c.RPush(ctx, fmt.Sprintf("big:%d", i), strings.Repeat("x", 2<<20)).Err())
	}
	r = execute(t, "", nil, "import", "redis://"+addr, "--dry-run", "--database-url", pgtest.New(t))
	require.Equal(t, exitFailed, r.code, r.err)
	require.Equal(t, 20, strings.Count(r.out, "the value is too large: "), r.out)
	require.Contains(t, r.out, "\n  ... and 7 more\n")
	require.Contains(t, r.out, "would be refused: the value is too large 27\n")

	require.NoError(t, c.FlushAll(ctx).Err())
	require.NoError(t, c.Set(ctx, "small", "v", 0).Err())
	require.Contains(t, execute(t, "", nil, "compare", "redis://"+addr).out, fits)
	require.Contains(t, execute(t, "", nil, "compare", "redis://"+addr, "--keys", "0").out, "\n0 of about 1 keys were looked at")
}

// The way back: what a cache has, Redis has after mass insertion, of every kind and with its TTL.
func TestBackToRedis(t *testing.T) {
	t.Parallel()
	const keys = 20_000
	from, to := startRedis(t), startRedis(t)
	c := redisClient(t, &redis.Options{Addr: from})
	fillRedis(t, c, keys)
	require.NoError(t, c.Set(t.Context(), "\xff\x00\r\n", "\r\n\xfe", 0).Err())
	require.NoError(t, c.Set(t.Context(), "empty", "", 0).Err())
	url := pgtest.New(t)
	succeed(t, "", nil, "import", "redis://"+from, "--database-url", url, "--state", filepath.Join(t.TempDir(), "state"))

	r := succeed(t, "", nil, "export", "--format", "resp", "--database-url", url)
	inserted := succeed(t, r.out, nil, "cli", "-u", to, "--pipe")
	require.Contains(t, inserted.out, fmt.Sprintf("errors: 0, replies: %d", keys+2))
	// Redis is the source of the comparison: what it has, the cache has, and nothing more.
	r = succeed(t, "", nil, "import", "redis://"+to, "--verify", "--database-url", url)
	require.Regexp(t, fmt.Sprintf(`^%d keys .*: %d equal, 0 missing, 0 different; 0 keys of the cache are not in the source`, keys+2, keys+2), r.out)
	again := succeed(t, "", nil, "export", "--format", "resp", "--database-url", url)
	require.Contains(t, succeed(t, again.out, nil, "cli", "-u", to, "--pipe").out, "errors: 0,", "keys that are there are replaced")
	require.Equal(t, exitUsage, execute(t, "", nil, "export", "--format", "xml", "--database-url", url).code)
}
