package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/howdah/howdah/internal/redisapi"
)

// serverSource asks a server what it counts, by INFO.
type serverSource struct {
	process *processFlags
	before  *serverFigures
}

// serverFigures are the counts of a server, and what happened a second since
// they were asked for before.
type serverFigures struct {
	Server    string           `json:"server"`
	At        time.Time        `json:"at"`
	Seconds   float64          `json:"seconds"` // of which the rates are; 0: there are none yet
	Databases []databaseFigure `json:"databases"`
	Clients   int64            `json:"clients"`
	Commands  int64            `json:"commands"` // totals since the server started
	Hits      int64            `json:"hits"`
	Misses    int64            `json:"misses"`
	Near      *nearFigures     `json:"near"` // null: the server keeps nothing in memory

	CommandRate float64  `json:"commands_per_second"`
	HitRate     float64  `json:"hits_per_second"`
	MissRate    float64  `json:"misses_per_second"`
	Hit         *float64 `json:"hit"` // share of keys found; null: nothing was read
}

// nearFigures are the counts of the entries that a server keeps in memory.
type nearFigures struct {
	BoundMS int64    `json:"bound_ms"`
	Bytes   int64    `json:"bytes"`
	Entries int64    `json:"entries"`
	Hits    int64    `json:"hits"`
	Misses  int64    `json:"misses"`
	Lapses  int64    `json:"lapses"`
	Hit     *float64 `json:"hit"` // share of hits since the figures before; null: nothing was read
}

type databaseFigure struct {
	Name    string `json:"name"`
	Entries int64  `json:"entries"`
	WithTTL int64  `json:"with_ttl"`
}

func (s *serverSource) close() {}

func (s *serverSource) read(ctx context.Context) (figures, error) {
	a, err := s.process.connect(ctx, "")
	if err != nil {
		return nil, err
	}
	defer a.close()
	reply, err := a.ask(ctx, "INFO", "everything")
	if err != nil {
		return nil, err
	}
	now := readInfo(string(reply.Str))
	now.At = time.Now()
	now.compare(s.before)
	s.before = now
	return now, nil
}

func readInfo(text string) *serverFigures {
	info := infoFields(text)
	number := func(text string) int64 {
		n, _ := strconv.ParseInt(text, 10, 64)
		return n
	}
	f := &serverFigures{
		Server: info["howdah_version"], Databases: []databaseFigure{},
		Clients: number(info["connected_clients"]), Commands: number(info["total_commands_processed"]),
		Hits: number(info["keyspace_hits"]), Misses: number(info["keyspace_misses"]),
	}
	if info["near_enabled"] == "1" {
		f.Near = &nearFigures{
			BoundMS: number(info["near_bound_ms"]), Bytes: number(info["near_bytes"]), Entries: number(info["near_entries"]),
			Hits: number(info["near_hits"]), Misses: number(info["near_misses"]), Lapses: number(info["near_lapses"]),
		}
	}
	for n := range redisapi.Databases {
		name := fmt.Sprintf("db%d", n)
		if text, ok := info[name]; ok {
			fields := keyspaceFields(text)
			f.Databases = append(f.Databases, databaseFigure{name, number(fields["keys"]), number(fields["expires"])})
		}
	}
	return f
}

// keyspaceFields takes "keys=3,expires=1,avg_ttl=0" apart.
func keyspaceFields(text string) map[string]string {
	fields := make(map[string]string)
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		fields[name] = value
	}
	return fields
}

func (f *serverFigures) compare(before *serverFigures) {
	if before == nil || before.Commands > f.Commands { // the server was started again
		return
	}
	f.Seconds = f.At.Sub(before.At).Seconds()
	hits, misses := f.Hits-before.Hits, f.Misses-before.Misses
	f.CommandRate = float64(f.Commands-before.Commands) / f.Seconds
	f.HitRate, f.MissRate = float64(hits)/f.Seconds, float64(misses)/f.Seconds
	f.Hit = share(hits, misses)
	if f.Near != nil && before.Near != nil {
		f.Near.Hit = share(f.Near.Hits-before.Near.Hits, f.Near.Misses-before.Near.Misses)
	}
}

// share is the part of hits; nil if there was neither a hit nor a miss.
func share(hits, misses int64) *float64 {
	if hits+misses == 0 {
		return nil
	}
	part := float64(hits) / float64(hits+misses)
	return &part
}

func percent(share *float64) string {
	if share == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100**share)
}

// Text implements figures. It is small: neither bound matters.
func (f *serverFigures) Text(int, int) string {
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "CACHE\tENTRIES\tWITH TTL\t")
	for _, d := range f.Databases {
		fmt.Fprintf(out, "%s\t%d\t%d\t\n", d.Name, d.Entries, d.WithTTL)
	}
	fmt.Fprintln(out)
	fmt.Fprintln(out, "SERVER\tCLIENTS\tCOMMANDS\tHITS\tMISSES\tHIT\t")
	fmt.Fprintf(out, "total\t%d\t%d\t%d\t%d\t\t\n", f.Clients, f.Commands, f.Hits, f.Misses)
	if f.Seconds > 0 {
		fmt.Fprintf(out, "a second\t\t%.1f\t%.1f\t%.1f\t%s\t\n", f.CommandRate, f.HitRate, f.MissRate, percent(f.Hit))
	}
	if n := f.Near; n != nil {
		fmt.Fprintln(out, "\nMEMORY\tBOUND\tENTRIES\tBYTES\tHITS\tMISSES\tHIT\t")
		fmt.Fprintf(out, "total\t%v\t%d\t%d\t%d\t%d\t%s\t\n", time.Duration(n.BoundMS)*time.Millisecond, n.Entries, n.Bytes, n.Hits, n.Misses, percent(n.Hit))
	}
	_ = out.Flush()
	return b.String()
}
