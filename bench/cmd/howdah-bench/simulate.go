package main

import (
	"flag"
	"fmt"

	"github.com/howdah/howdah/bench/internal/simulate"
)

// simulated are the numbers of servers of the table.
var simulated = []int{2, 4, 8, 16, 32, 64, 128, 1000}

// runSimulate prints what many servers would do, calculated from what few did.
func runSimulate(args []string) error {
	set := flag.NewFlagSet("simulate", flag.ContinueOnError)
	l := simulate.Load{}
	set.IntVar(&l.PerServer, "partitions", 4, "partitions that each server should have; there are at most 64")
	set.Float64Var(&l.Cores, "cores", 8, "of each server, for PostgreSQL")
	set.Float64Var(&l.Reads, "reads", 0.9, "share of reads")
	perServer := set.Int("processes", 4, "that use the database, for each server")
	set.Float64Var(&l.Together, "keys", 1024, "that one process has ready at once")
	set.IntVar(&l.Pool, "pool", 8, "connections of a process to each server")
	gigabytes := set.Float64("gigabytes", 10, "of entries on each server")
	set.Float64Var(&l.Follows, "polls", 10, "a second, of each process to each server, for entries in memory")
	most := set.Int("connections", 1000, "that a server bears")
	if err := set.Parse(args); err != nil {
		return err
	}
	if l.PerServer < 1 || !(l.Cores > 0) || !(l.Reads >= 0 && l.Reads <= 1) || *perServer < 1 || !(l.Together >= 1) || l.Pool < 1 {
		return fmt.Errorf("numbers must be positive, and the share of reads between 0 and 1")
	}
	l.Bytes, l.MapEvery = *gigabytes*1e9, 30
	var outcomes []simulate.Outcome
	for _, l.Servers = range simulated {
		l.Processes = *perServer * l.Servers
		outcomes = append(outcomes, simulate.Run(simulate.Measured, l))
	}
	fmt.Print(simulate.Table(outcomes))
	if servers, reason := simulate.Limit(outcomes, *most); servers > 0 {
		fmt.Printf("\nNot sensible at %d servers: %s.\n", servers, reason)
	}
	return nil
}
