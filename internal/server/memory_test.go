package server

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah/internal/resp"
)

// resident is the memory that the process has of the system, in bytes.
func resident() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// heapInUse is the memory of objects, live or not collected yet, and of spans
// that hold them.
func heapInUse() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() + samples[1].Value.Uint64())
}

// watchMemory samples the memory of the process until the function it returns
// is called, which returns the most that there was.
func watchMemory() (most func() int64) {
	stop, done := make(chan struct{}), make(chan int64, 1)
	go func() {
		peak := resident()
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				peak = max(peak, resident())
			case <-stop:
				done <- peak
				return
			}
		}
	}()
	return func() int64 { close(stop); return <-done }
}

// dialLong is dial for what a busy machine needs more than a minute for.
func (s *running) dialLong() *rawConn {
	s.t.Helper()
	c := s.dial()
	require.NoError(s.t, c.SetDeadline(time.Now().Add(5*time.Minute)))
	return c
}

// p99 measures how long n GETs of a small key take, one after the other.
func (s *running) p99(n int) time.Duration {
	c := s.dialLong()
	defer c.Close()
	c.send("SET", "small", "v")
	c.reply()
	took := make([]time.Duration, n)
	for i := range took {
		began := time.Now()
		c.send("GET", "small")
		require.Equal(s.t, "v", string(c.reply().Str))
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took[n*99/100]
}

// settled waits until the server has answered what it will for now.
func (s *running) settled() {
	s.t.Helper()
	calls := func() (text string) {
		_, body := s.get("/metrics", "")
		for line := range strings.Lines(body) {
			if strings.HasPrefix(line, `howdah_verb_calls_total{verb="get"}`) {
				text = line
			}
		}
		return text
	}
	before, same := "", 0
	require.Eventually(s.t, func() bool {
		now := calls()
		if same++; now != before {
			before, same = now, 0
		}
		return same > 5
	}, 2*time.Minute, 100*time.Millisecond)
}

// Thousands of requests for one large value do not make thousands of copies of
// it, whether the client reads its replies or not, and what it needed is given
// back when it has gone.
func TestPipelinedReadsOfOneLargeValue(t *testing.T) {
	drivers(t, func(t *testing.T, configure func(*Config)) {
		s := start(t, func(c *Config) {
			c.Timeout = 30 * time.Second
			configure(c)
		})
		const size = 1 << 20
		first := s.dial()
		first.send("SET", "k", strings.Repeat("v", size))
		require.Equal(t, "OK", string(first.reply().Str))
		first.Close()
		get := resp.AppendCommand(nil, "GET", "k")
		reply := int64(size + len("$1048576\r\n\r\n"))
		alone := s.p99(1000)
		debug.FreeOSMemory()
		before := heapInUse()

		most := watchMemory()
		reader := s.dialLong()
		_, err := reader.Write(slices.Repeat(get, 2000))
		require.NoError(t, err)
		n, err := io.CopyN(io.Discard, reader.in, 2000*reply)
		require.NoError(t, err, "after %d bytes", n)
		reader.Close()
		peak := most()
		require.Less(t, peak, int64(256<<20), "memory for a client that reads")
		t.Logf("one client that reads: %d MiB", peak>>20)

		most = watchMemory()
		var clients sync.WaitGroup
		var hogs []net.Conn
		for range 40 {
			c := s.dial()
			hogs = append(hogs, c)
			clients.Go(func() { c.Write(slices.Repeat(get, 20_000)) })
		}
		busy := s.p99(1000)
		s.settled()
		later := s.p99(1000)
		peak = most()
		require.Less(t, peak, int64(1<<30), "memory for clients that do not read")
		t.Logf("40 clients that do not read: %d MiB; p99 of another %v without them, %v while they come, %v later", peak>>20, alone, busy, later)
		for _, c := range hogs {
			c.Close()
		}
		clients.Wait()
		hogs = nil
		// Each PostgreSQL connection keeps a buffer as large as its last answer.
		const buffers = 8 * 2 * size
		require.Eventually(t, func() bool { return heapInUse() < before+before/10+buffers }, 2*time.Minute, 100*time.Millisecond)
		t.Logf("heap in use: %d KiB before, %d KiB afterwards", before>>10, heapInUse()>>10)
	})
}

// Large commands that are not finished do not add up beyond the bound: those for
// which there is no memory are refused, and their connections live on.
func TestUnfinishedCommandsAreBounded(t *testing.T) {
	drivers(t, func(t *testing.T, configure func(*Config)) {
		const limit, size, clients = 64 << 20, 20 << 20, 30
		s := start(t, func(c *Config) {
			c.MaxClientsMemory, c.Timeout = limit, 30*time.Second
			configure(c)
		})
		other := s.dialLong()
		debug.FreeOSMemory()
		before := heapInUse()
		most := watchMemory()
		value := bytes.Repeat([]byte("v"), size)
		var work sync.WaitGroup
		conns := make([]*rawConn, clients)
		for i := range conns {
			c := s.dialLong()
			conns[i] = c
			work.Go(func() {
				fmt.Fprintf(c, "*3\r\n$3\r\nSET\r\n$3\r\nbig\r\n$%d\r\n", size)
				c.Write(value[:size-1])
			})
		}
		work.Wait()
		other.send("PING")
		require.Equal(t, "PONG", string(other.reply().Str))
		refused := 0
		for _, c := range conns {
			_, err := io.WriteString(c, "v\r\n*1\r\n$4\r\nPING\r\n")
			require.NoError(t, err)
			reply := c.reply()
			if text := string(reply.Str); text != "OK" {
				require.True(t, strings.HasPrefix(text, "OOM "), text)
				refused++
			}
			require.Equal(t, "PONG", string(c.reply().Str), "the connection is still in step")
		}
		peak := most() - before
		t.Logf("%d of %d commands refused, %d MiB for a bound of %d", refused, clients, peak>>20, limit>>20)
		require.Positive(t, refused)
		require.Less(t, refused, clients, "nothing was taken at all")
		require.Less(t, peak, int64(8*limit), "without the bound it is more than %d MiB", clients*size>>20)
		for _, c := range conns {
			c.Close()
		}
		conns, value = nil, nil
		require.Eventually(t, func() bool { return heapInUse() < before+16<<20 }, 2*time.Minute, 100*time.Millisecond)
	})
}

// A machine's memory is what its control groups leave of it.
func TestAvailableMemory(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal:       24000000 kB\nMemFree:        1 kB\n"
	for name, test := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"unknown": {nil, unknownMemory},
		"machine": {map[string]string{"proc/meminfo": meminfo}, 24000000 << 10},
		"container": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n",
			"sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"no limit": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/user.slice/a.scope\n",
			"sys/fs/cgroup/user.slice/memory.max": "max\n"}, 24000000 << 10},
		"the group above": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/system.slice/howdah.service\n",
			"sys/fs/cgroup/system.slice/memory.max": "1073741824\n", "sys/fs/cgroup/system.slice/howdah.service/memory.max": "max\n"}, 1 << 30},
		"version 1": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n"}, 256 << 20},
		"version 1 without a limit": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 24000000 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{}
			for path, content := range test.files {
				root[path] = &fstest.MapFile{Data: []byte(content)}
			}
			require.Equal(t, test.want, availableMemory(root))
		})
	}
}

// Memory is returned once, when much was given up and things have calmed down.
func TestMemoryReturn(t *testing.T) {
	const much = 1 << 30
	var m memoryReturn
	var due []int
	for second, released := range []int64{0, much, 2 * much, 3 * much, 3 * much, 3 * much, 3 * much, 3 * much, 3 * much, 3*much + returnAbove, 3*much + returnAbove} {
		if m.due(released) {
			due = append(due, second)
		}
	}
	require.Equal(t, []int{6}, due)
	m = memoryReturn{}
	for second := range int64(returnAbove / returnBelow) {
		require.False(t, m.due(second*returnBelow), "too little for a collection")
	}
}
