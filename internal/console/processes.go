package console

import (
	"time"

	"github.com/howdah/howdah/internal/stat"
)

// processRow is a process of "howdah serve" as the database knows it.
type processRow struct {
	Name, Version string
	Started, Seen string
	Silent, Self  bool
	Near          *processNear // nil: it keeps nothing in memory
}

// processNear is what a process keeps in memory.
type processNear struct {
	Bound         string
	Entries       int64
	Memory        string
	Hit           *float64
	MaxAge, Lag   string
	Drops, Lapses int64
}

// processRows are the lines of the processes. Names and versions are text of others.
func processRows(seen *stat.Servers) (rows []processRow) {
	if seen == nil {
		return nil
	}
	for i := range seen.Processes {
		p := &seen.Processes[i]
		row := processRow{
			Name: visible(p.Name), Version: visible(p.Version), Started: ago(seen.At, p.Started), Seen: ago(seen.At, p.Seen),
			Silent: p.Silent, Self: p.Self,
		}
		if n := p.Near; n != nil {
			row.Near = &processNear{
				Bound: inSeconds(n.Bound), Entries: n.Entries, Memory: size(n.Bytes) + " of " + size(n.MaxBytes), Hit: shareOf(n.Hits, n.Hits+n.Misses),
				MaxAge: inSeconds(n.MaxAge), Lag: inSeconds(n.Lag), Drops: n.Drops, Lapses: n.Lapses,
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func inSeconds(seconds float64) string {
	return duration(time.Duration(seconds * float64(time.Second)))
}
