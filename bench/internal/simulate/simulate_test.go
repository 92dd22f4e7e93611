package simulate

import (
	"math"
	"strings"
	"testing"
)

// flat costs make sums that a reader can check.
var flat = Costs{
	Get: []Point{{1, 16}, {16, 4}}, Set: []Point{{1, 32}, {16, 8}}, GetGuard: 32, SetGuard: 64,
	Move: 100e6, MoveStart: 1, Connection: 10e6, Poll: 50, Map: 1000, Failures: 2, Restart: 60,
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6*math.Max(1, math.Abs(want)) {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

func TestCostBetweenMeasurements(t *testing.T) {
	for keys, want := range map[float64]float64{0.5: 16, 1: 16, 4: 8, 16: 4, 1000: 4} {
		near(t, "cost", At(flat.Get, keys), want)
	}
}

func TestPartitionsAreAPowerOfTwoAtMost64(t *testing.T) {
	for servers, want := range map[int]int{2: 8, 3: 16, 4: 16, 16: 64, 17: 64, 1000: 64} {
		if got := PartitionsFor(servers, 4); got != want {
			t.Errorf("%d servers: %d partitions, want %d", servers, got, want)
		}
	}
}

func TestRun(t *testing.T) {
	o := Run(flat, Load{Servers: 4, Partitions: 16, Cores: 2, Reads: 1, Processes: 10, Together: 256, Pool: 8, Bytes: 4e9, Follows: 100, MapEvery: 25})
	near(t, "keys", o.Keys, 16)
	near(t, "polls and map", o.Background, (10*100*50.0+10*1000.0/25/4)/2e6)
	// 4 us a key and 32/16 us of guard, a quarter of the keys on each server.
	near(t, "throughput", o.Throughput, (1-o.Background)*2e6/6*4)
	near(t, "of the ideal", o.Efficiency, (1-o.Background)*4/6)
	near(t, "memory", o.Memory, 80*10e6)
	near(t, "a move", o.MoveOne, 1+10) // 16 GB in 16 partitions, 100 MB/s
	near(t, "draining", o.Drain, 4*11)
	near(t, "one more server", o.Rebalance, 3*11)
	near(t, "away", o.AwayShare, 0.25)
	near(t, "hours", o.AwayHours, 8.0/60)
	if o.FailuresAYear != 8 || o.Connections != 80 {
		t.Errorf("%+v", o)
	}
}

// The server with more partitions than the others is full first.
func TestUnevenServers(t *testing.T) {
	load := Load{Servers: 4, Partitions: 4, Cores: 1, Together: 4, MapEvery: 1}
	four := Run(flat, load)
	load.Servers = 3
	near(t, "throughput of 3 beside 4", Run(flat, load).Throughput/four.Throughput, 0.5*(1-Run(flat, load).Background)/(1-four.Background))
}

// Servers without a partition bring nothing.
func TestMoreServersThanPartitions(t *testing.T) {
	load := Load{Servers: 64, Cores: 1, PerServer: 4, Together: 64, MapEvery: 1, Pool: 1, Processes: 1}
	full := Run(flat, load)
	load.Servers = 1000
	more := Run(flat, load)
	if more.Holding != 64 || more.Partitions != 64 || more.Rebalance != 0 {
		t.Errorf("%+v", more)
	}
	near(t, "throughput beside 64", more.Throughput/full.Throughput, (1-more.Background)/(1-full.Background))
	if servers, reason := Limit([]Outcome{full, more}, 100); servers != 1000 || !strings.Contains(reason, "936 servers") {
		t.Errorf("%d: %s", servers, reason)
	}
	full.Connections = 101
	if servers, reason := Limit([]Outcome{full, more}, 100); servers != 64 || !strings.Contains(reason, "connections") {
		t.Errorf("%d: %s", servers, reason)
	}
	if rows := strings.Count(Table([]Outcome{full, more}), "\n"); rows != 4 {
		t.Errorf("the table has %d lines", rows)
	}
}
