// Package simulate calculates what a database over many servers does, from costs that were
// measured on one and two. It starts nothing.
package simulate

import "math"

// Costs are what was measured, each with its source.
type Costs struct {
	// Get and Set are PostgreSQL's CPU of one key, in microseconds, by the keys of a
	// statement.
	Get, Set []Point
	// GetGuard and SetGuard are what it adds to a statement to ask whether the partition
	// is still on the server, in microseconds.
	GetGuard, SetGuard float64
	Move               float64 // bytes a second of a partition that moves; its writes wait
	MoveStart          float64 // seconds that each move takes besides
	Connection         float64 // bytes of a connection to PostgreSQL
	Poll               float64 // CPU of a poll of the change log, in microseconds
	Map                float64 // CPU of a reading of the map, in microseconds
	Failures           float64 // of a server, a year
	Restart            float64 // seconds that a server is away then
}

// Point is a cost at a number of keys a statement.
type Point struct{ Keys, Microseconds float64 }

// Measured are the costs of PostgreSQL 15 on one core of the machine of docs/benchmarks.md. What
// a client uses is not in them.
var Measured = Costs{
	// Experiment scale-out: one server on one core, all processes of PostgreSQL, medians. At 30
	// keys the server had 16 partitions.
	Get: []Point{{1, 26.0}, {30, 4.0}, {64, 3.7}},
	Set: []Point{{1, 64.1}, {30, 8.9}, {64, 7.5}},
	// The same experiment: 67 and 137 us at one key on two servers, less what one takes.
	GetGuard: 41, SetGuard: 73,
	// 135 MB in 0.46 s on an idle server; 0.7 s a move of an almost empty partition under load.
	Move: 300e6, MoveStart: 0.5,
	// An assumption: a backend with its prepared statements has 5 to 10 MB of its own.
	Connection: 8e6,
	// A statement that finds nothing new costs about as much as one of one key.
	Poll: 40,
	// The map is a join of small tables in Citus' catalogue; an estimate.
	Map: 1000,
	// Assumptions, not measurements: a server fails twice a year and is away for a minute.
	Failures: 2, Restart: 60,
}

// Load is what is asked of a database.
type Load struct {
	Servers    int
	Partitions int     // 0: as many as Wanted
	PerServer  int     // partitions that a server should have
	Cores      float64 // of a server
	Reads      float64 // share of reads
	Processes  int     // that use the database
	Together   float64 // keys that one process has ready at once, over all partitions
	Pool       int     // connections of a process to a server
	Bytes      float64 // of all entries on one server
	Follows    float64 // polls a second of a process to each server, for entries in memory
	MapEvery   float64 // seconds between two readings of the map by a process
}

// Outcome is what a Load comes to.
type Outcome struct {
	Servers     int
	Partitions  int
	Holding     int     // servers that hold a partition
	Keys        float64 // a statement
	Throughput  float64 // calls a second
	Efficiency  float64 // of Throughput, beside as many times what one server without partitions does
	Connections int     // to each server
	Memory      float64 // bytes of them
	Background  float64 // share of a server's processors that polls and readings of the map take
	MoveOne     float64 // seconds to move a partition
	Rebalance   float64 // seconds to move what one more server gets
	Drain       float64 // seconds to empty a server
	FailuresAYear,
	AwayShare float64 // failures of all servers; share of the keys that one of them takes away
	AwayHours float64 // hours a year in which some keys are away
}

// MostPartitions is the limit of today.
const MostPartitions = 64

// PartitionsFor is the power of two that gives every server as many as it should have, at
// most MostPartitions.
func PartitionsFor(servers, perServer int) int {
	p := 2
	for p < servers*perServer && p < MostPartitions {
		p *= 2
	}
	return p
}

// Run calculates one load. Partitions lie evenly on those servers that have any.
func Run(c Costs, l Load) Outcome {
	o := Outcome{Servers: l.Servers, Partitions: l.Partitions}
	if o.Partitions == 0 {
		o.Partitions = PartitionsFor(l.Servers, l.PerServer)
	}
	o.Holding = min(l.Servers, o.Partitions)
	o.Keys = max(1, l.Together/float64(o.Partitions))
	o.Connections = l.Processes * l.Pool
	o.Memory = float64(o.Connections) * c.Connection
	calls := float64(l.Processes) * (l.Follows*c.Poll + c.Map/max(1, l.MapEvery)/float64(l.Servers))
	o.Background = min(1, calls/1e6/l.Cores)

	// The server with the most partitions is full first, and the others wait for it.
	share := math.Ceil(float64(o.Partitions)/float64(o.Holding)) / float64(o.Partitions)
	o.Throughput = (1 - o.Background) * l.Cores * 1e6 / c.call(l.Reads, o.Keys, true) / share
	alone := l.Cores * 1e6 / c.call(l.Reads, max(1, l.Together), false)
	o.Efficiency = o.Throughput / alone / float64(l.Servers)

	held := math.Ceil(float64(o.Partitions) / float64(o.Holding))
	partition := l.Bytes * float64(o.Holding) / float64(o.Partitions)
	o.MoveOne = c.MoveStart + partition/c.Move
	o.Drain = held * o.MoveOne
	o.Rebalance = float64(o.Partitions/(l.Servers+1)) * o.MoveOne
	o.FailuresAYear = c.Failures * float64(l.Servers)
	o.AwayShare = share
	o.AwayHours = c.Failures * float64(o.Holding) * c.Restart / 3600
	return o
}

// call is PostgreSQL's CPU of one key of a mix, in microseconds.
func (c Costs) call(reads, keys float64, guarded bool) float64 {
	get, set := At(c.Get, keys), At(c.Set, keys)
	if guarded {
		get, set = get+c.GetGuard/keys, set+c.SetGuard/keys
	}
	return reads*get + (1-reads)*set
}

// At reads a cost between the points that were measured, straight in logarithms of both; below
// the first and beyond the last it is theirs.
func At(points []Point, keys float64) float64 {
	if keys <= points[0].Keys {
		return points[0].Microseconds
	}
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		if keys <= b.Keys {
			part := math.Log(keys/a.Keys) / math.Log(b.Keys/a.Keys)
			return a.Microseconds * math.Pow(b.Microseconds/a.Microseconds, part)
		}
	}
	return points[len(points)-1].Microseconds
}
