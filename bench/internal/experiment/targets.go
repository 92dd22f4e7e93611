package experiment

import (
	"strconv"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/rival"
)

// target is what Howdah is to reach against a rival, by number of goroutines.
type target struct {
	group, to string
	at        map[int]float64
}

// libraryTargets are for two cores that client, server and database share.
var libraryTargets = []target{
	{"GET", rival.PgxName, map[int]float64{1: 0.95, 16: 1.3, 64: 3.5, 256: 5, 1024: 6}},
	{"GET", rival.GoRedisName, map[int]float64{1: 0.9, 16: 1.0, 64: 1.6, 256: 2.8, 1024: 3.5}},
	{"GET", rival.RueidisName, map[int]float64{64: 1.0, 256: 1.1, 1024: 0.9}},
	{"GET", rival.MemcachedName, nil},
	{"SET", rival.PgxName, nil},
	{"SET", rival.GoRedisName, map[int]float64{1: 0.7, 16: 0.7, 64: 1.1, 256: 1.6, 1024: 1.9}},
	{"SET", rival.RueidisName, map[int]float64{64: 0.6, 256: 0.55, 1024: 0.4}},
	{"SET", rival.MemcachedName, nil},
	{"80 % GET, 20 % SET", rival.PgxName, nil},
	{"80 % GET, 20 % SET", rival.GoRedisName, nil},
	{"80 % GET, 20 % SET", rival.RueidisName, nil},
	{"80 % GET, 20 % SET", rival.MemcachedName, nil},
}

func libraryRatios(r *result.Result, goroutines []int) {
	for _, t := range libraryTargets {
		for _, g := range goroutines {
			r.Compare(t.group, strconv.Itoa(g), throughput, rival.HowdahName, t.to, t.at[g], false)
		}
	}
}
