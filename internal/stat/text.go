package stat

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// column is one figure of every row. Where a line has no room for all, those
// of the highest rank go first.
type column struct {
	title string
	rank  int
	value func(*Report, *Row) string
}

var columns = []column{
	{"CLASS", 8, func(_ *Report, r *Row) string { return r.Class }},
	{"POLICY", 14, func(_ *Report, r *Row) string { return cmp.Or(r.Policy, unknown) }},
	{"ENTRIES", 0, func(_ *Report, r *Row) string { return short(float64(r.Entries)) }},
	{"PARTITIONS", 11, func(_ *Report, r *Row) string { return r.Partitions.text() }},
	{"EXPIRED", 9, func(_ *Report, r *Row) string { return count(r.Expired) }},
	{"USED", 1, func(_ *Report, r *Row) string {
		if r.Refuses {
			return "FULL"
		}
		return percent(r.Used)
	}},
	{"READ/s", 0, func(_ *Report, r *Row) string { return rate(r.Reads) }},
	{"HIT", 2, func(_ *Report, r *Row) string { return percent(r.Hit) }},
	{"WRITE/s", 0, func(_ *Report, r *Row) string { return rate(r.Writes) }},
	{"DEL/s", 7, func(_ *Report, r *Row) string { return rate(r.Deletes) }},
	{"EXP/s", 4, func(_ *Report, r *Row) string { return rate(r.Gone) }},
	{"EVICT/s", 4, func(_ *Report, r *Row) string { return rate(r.Evicted) }},
	{"HOT", 5, func(_ *Report, r *Row) string { return percent(r.HOT) }},
	{"DEAD", 3, func(_ *Report, r *Row) string { return short(float64(r.Dead)) }},
	{"DATA", 13, func(_ *Report, r *Row) string { return sizeText(r.Bytes) }},
	{"SIZE", 1, func(_ *Report, r *Row) string { size := r.Size(); return sizeText(&size) }},
	{"INDEX", 12, func(_ *Report, r *Row) string { return sizeText(&r.IndexBytes) }},
	{"MEM", 10, func(_ *Report, r *Row) string { return percent(r.Memory) }},
	{"VACUUM", 6, func(p *Report, r *Row) string {
		if r.Vacuumed == nil {
			return "never"
		}
		return age(p.At.Sub(*r.Vacuumed))
	}},
}

// text is how many there are and of how many entries.
func (p *Partitions) text() string {
	if p == nil {
		return unknown
	}
	return fmt.Sprintf("%d of %s-%s", p.Number, short(float64(p.Smallest)), short(float64(p.Largest)))
}

// Text lays the report out in lines of at most width characters and at most
// height lines; 0 is without limit.
func (r *Report) Text(width, height int) string {
	lines := r.head()
	table := r.table(width)
	if room := height - len(lines) - 1; height > 0 && len(table) > room {
		shown := max(1, room-1)
		table = append(table[:shown:shown], fmt.Sprintf("... %d more: a taller window shows them", len(table)-shown))
	}
	lines = append(append(lines, ""), table...)
	for i, line := range lines {
		lines[i] = cut(line, width)
	}
	return strings.Join(lines, "\n") + "\n"
}

// head tells what is true of the whole database.
func (r *Report) head() []string {
	lines := []string{fmt.Sprintf("%s, PostgreSQL %s, as %s, %s UTC", printable(r.Database), r.Server, printable(r.Role), r.At.UTC().Format("15:04:05"))}
	upkeep := "nobody leads"
	if r.Upkeep.Leader != "" {
		upkeep = "led by " + printable(r.Upkeep.Leader[:min(6, len(r.Upkeep.Leader))])
	}
	if last := r.Upkeep.LastRound; last != nil {
		upkeep += ", last round " + age(seconds(*last)) + " ago"
	} else {
		upkeep += ", no round yet"
	}
	if held := r.Upkeep.HeldBack; held != nil {
		upkeep += ", slowed down for a standby or slot for " + age(seconds(*held))
	}
	lines = append(lines, "upkeep   "+upkeep)
	resets := "no reset of unlogged caches"
	if r.Upkeep.Resets > 0 {
		resets = fmt.Sprintf("%d resets of unlogged caches, the last %s ago", r.Upkeep.Resets, age(r.At.Sub(r.Upkeep.Since)))
	}
	lines = append(lines, "crashes  "+resets)
	oldest := "nobody holds an old snapshot"
	if h := r.Oldest; h != nil {
		oldest = fmt.Sprintf("%s transactions old", short(float64(h.Age)))
		if h.Seconds > 0 {
			oldest += ", " + age(seconds(h.Seconds))
		}
		oldest += ": " + printable(h.Who)
	}
	if !r.seesAll {
		oldest += " (other roles' are hidden: pg_read_all_stats)"
	}
	lines = append(lines, "oldest   "+oldest)
	if len(r.Servers) > 0 {
		lines = append(lines, "servers  "+cmp.Or(MissingText(r.Servers), fmt.Sprintf("%d, all answer", len(r.Servers))))
	}
	if r.Near != nil {
		lines = append(lines, "memory   answered "+percent(r.Near)+" of the reads that it may answer")
	}
	if len(r.Hidden) > 0 {
		lines = append(lines, "hidden   "+strings.Join(r.Hidden, ", "))
	}
	return lines
}

// longestName is how much of a name is shown.
const longestName = 24

// table lays out as many columns as fit.
func (r *Report) table(width int) []string {
	names := []string{"CACHE"}
	for i := range r.Tables {
		name := r.Tables[i].Name
		if r.Tables[i].Sessions {
			name = "[sessions]"
		}
		names = append(names, cut(name, longestName))
	}
	divided := func(r Row) bool { return r.Partitions != nil }
	chosen := slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		return c.title == "PARTITIONS" && !slices.ContainsFunc(r.Tables, divided)
	})
	for {
		lines := pad(names, false)
		for _, c := range chosen {
			cells := []string{c.title}
			for i := range r.Tables {
				cells = append(cells, c.value(r, &r.Tables[i]))
			}
			for i, cell := range pad(cells, true) {
				lines[i] += "  " + cell
			}
		}
		if width <= 0 || len(lines[0]) <= width || len(chosen) == 0 {
			return lines
		}
		last := 0
		for i, c := range chosen {
			if c.rank >= chosen[last].rank {
				last = i
			}
		}
		chosen = slices.Delete(chosen, last, last+1)
	}
}

// pad gives all cells the width of the widest.
func pad(cells []string, right bool) []string {
	width := 0
	for _, c := range cells {
		width = max(width, len(c))
	}
	padded := make([]string, len(cells))
	for i, c := range cells {
		if right {
			padded[i] = fmt.Sprintf("%*s", width, c)
		} else {
			padded[i] = fmt.Sprintf("%-*s", width, c)
		}
	}
	return padded
}

// cut shortens a line to a width, 0 being none.
func cut(line string, width int) string {
	runes := []rune(line)
	if width <= 0 || len(runes) <= width {
		return line
	}
	return string(runes[:max(0, width-1)]) + "~"
}

// short writes a number in five characters: 999, 1.23k, 12.3M.
func short(n float64) string {
	unit := ""
	for _, next := range []string{"k", "M", "G", "T"} {
		if n < 999.5 {
			break
		}
		n, unit = n/1000, next
	}
	switch {
	case unit == "" || n >= 99.95:
		return fmt.Sprintf("%.0f%s", n, unit)
	case n >= 9.995:
		return fmt.Sprintf("%.1f%s", n, unit)
	}
	return fmt.Sprintf("%.2f%s", n, unit)
}

const unknown = "-"

func count(n *int64) string {
	if n == nil {
		return unknown
	}
	return short(float64(*n))
}

func rate(n *float64) string {
	switch {
	case n == nil:
		return unknown
	case *n > 0 && *n < 9.95:
		return fmt.Sprintf("%.1f", *n)
	}
	return short(*n)
}

func percent(share *float64) string {
	if share == nil {
		return unknown
	}
	return fmt.Sprintf("%.0f%%", 100**share)
}

// sizeText writes a size in binary units, as PostgreSQL does.
func sizeText(n *int64) string {
	if n == nil {
		return unknown
	}
	value, unit := float64(*n)/1024, "K"
	for _, next := range []string{"M", "G", "T"} {
		if value < 999.5 {
			break
		}
		value, unit = value/1024, next
	}
	if value >= 9.95 || unit == "K" {
		return fmt.Sprintf("%.0f%s", value, unit)
	}
	return fmt.Sprintf("%.1f%s", value, unit)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// age writes how long ago something was, in its largest unit.
func age(d time.Duration) string {
	switch d = max(0, d); {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0fm", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0fh", d.Hours())
	}
	return fmt.Sprintf("%.0fd", d.Hours()/24)
}

// printable drops what would steer a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
