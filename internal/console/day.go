package console

import (
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/figures"
)

// The size of a curve of the day, in the units of its own coordinates, and how many steps it has from left to
// right: each shows the lowest and the highest minute in it, so no peak is lost.
const (
	dayWidth, dayHeight = 480, 80
	daySteps            = 240
	dayRefresh          = 60 // seconds: there is nothing new before
)

// dayFigure is one curve of the day.
type dayFigure struct {
	Name, Now string
	Span      string // from the lowest to the highest value, in words
	Drawn     template.HTML
}

// dayHour is an hour of the day in the table.
type dayHour struct {
	From                                    string
	Reads, Writes, Errors, Expired, Evicted string // means
	Hit                                     string
	P99, Clients, Connections               string // the highest
}

// dayView is the page of the last day.
type dayView struct {
	Since    time.Time // zero: nothing is recorded
	Age      string
	From, To time.Time // of the curves
	Figures  []dayFigure
	Hours    []dayHour
}

// dayKinds are the curves in their order. Most is what fills the height; 0: the highest value.
var dayKinds = []struct {
	name  string
	most  float64
	value func(*figures.Minute) *float64
	text  func(*float64) string
}{
	{"Reads a second", 0, func(m *figures.Minute) *float64 { return &m.Reads }, rate},
	{"Writes a second", 0, func(m *figures.Minute) *float64 { return &m.Writes }, rate},
	{"Hit ratio", 1, func(m *figures.Minute) *float64 { return m.Hit }, percent},
	{"Latency, p99", 0, func(m *figures.Minute) *float64 { return m.P99 }, milliseconds},
	{"Errors a second", 0, func(m *figures.Minute) *float64 { return &m.Errors }, rate},
	{"Redis clients", 0, func(m *figures.Minute) *float64 { return floatOf(m.Clients) }, wholeOf},
	{"Connections to PostgreSQL", 0, func(m *figures.Minute) *float64 { return floatOf(&m.Connections) }, wholeOf},
	{"Expired entries a second", 0, func(m *figures.Minute) *float64 { return &m.Expired }, rate},
	{"Evicted entries a second", 0, func(m *figures.Minute) *float64 { return &m.Evicted }, rate},
}

func floatOf(n *int64) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

func wholeOf(n *float64) string {
	if n == nil {
		return unknown
	}
	return number(int64(*n))
}

// history is the page of what this server did in the last day. It asks the database nothing.
func (c *Console) history(r *request) error {
	minutes, since := c.figures.Day()
	view := &dayView{Since: since, Age: duration(time.Since(since))}
	if n := len(minutes); n > 0 {
		view.From, view.To = beginning(&minutes[0]), minutes[n-1].At
		for i := range dayKinds {
			view.Figures = append(view.Figures, dayFigureOf(i, minutes))
		}
		view.Hours = hoursOf(minutes)
	}
	return r.show(http.StatusOK, "history.html", frame{Title: "The last day", Section: "overview", Live: true, Every: dayRefresh, Page: view})
}

// beginning is when a minute began.
func beginning(m *figures.Minute) time.Time {
	return m.At.Add(-time.Duration(m.Seconds * float64(time.Second)))
}

// dayFigureOf draws one of dayKinds, and says in words what it shows.
func dayFigureOf(kind int, minutes []figures.Minute) dayFigure {
	k := &dayKinds[kind]
	var low, high *float64
	var at time.Time
	for i := range minutes {
		value := k.value(&minutes[i])
		if value == nil {
			continue
		}
		if low == nil || *value < *low {
			low = value
		}
		if high == nil || *value > *high {
			high, at = value, minutes[i].At
		}
	}
	drawn := dayFigure{Name: k.name, Now: k.text(k.value(&minutes[len(minutes)-1]))}
	switch {
	case high == nil:
		drawn.Span = "Nothing is known"
		drawn.Drawn = dayCurve(k.name+": nothing is known", "")
		return drawn
	case *low == *high:
		drawn.Span = "Always " + k.text(high)
	default:
		drawn.Span = "Lowest " + k.text(low) + ", highest " + k.text(high) + " at " + at.Format("15:04")
	}
	top := k.most
	if top == 0 {
		top = *high
	}
	drawn.Drawn = dayCurve(k.name+": now "+drawn.Now+". "+drawn.Span, dayPath(minutes, k.value, top))
	return drawn
}

// dayCurve is the image of a path that dayPath has made; label is escaped.
func dayCurve(label, path string) template.HTML {
	return template.HTML(fmt.Sprintf(
		`<svg class="spark" viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-label="%s">`+
			`<path class="base" d="M0 %d.5H%d" vector-effect="non-scaling-stroke"/><path d="%s" vector-effect="non-scaling-stroke"/></svg>`,
		dayWidth, dayHeight, template.HTMLEscapeString(label), dayHeight-1, dayWidth, path))
}

// dayPath is a curve over time, with a gap where a minute is missing or its value is not known. top is at its upper edge.
func dayPath(minutes []figures.Minute, value func(*figures.Minute) *float64, top float64) string {
	first, last := minutes[0].At, minutes[len(minutes)-1].At
	x := func(i int) float64 {
		return float64(dayWidth) * float64(minutes[i].At.Sub(first)) / float64(max(1, last.Sub(first)))
	}
	step := func(i int) int { return int(x(i) * daySteps / dayWidth) }
	y := func(i int) float64 { return 1 + (dayHeight-2)*(1-*value(&minutes[i])/max(top, 1e-9)) }
	var path strings.Builder
	for i, follows := 0, false; i < len(minutes); {
		if value(&minutes[i]) == nil {
			follows = false
			i++
			continue
		}
		if follows = follows && minutes[i].Follows(&minutes[i-1]); !follows {
			fmt.Fprintf(&path, "M%.1f %.1fh.5", x(i), y(i)) // something is seen of a minute alone
		}
		low, high, next := i, i, i+1
		for ; next < len(minutes) && step(next) == step(i) && value(&minutes[next]) != nil && minutes[next].Follows(&minutes[next-1]); next++ {
			if y(next) > y(low) {
				low = next
			}
			if y(next) < y(high) {
				high = next
			}
		}
		fmt.Fprintf(&path, "L%.1f %.1f", x(min(low, high)), y(min(low, high)))
		if low != high {
			fmt.Fprintf(&path, "L%.1f %.1f", x(max(low, high)), y(max(low, high)))
		}
		i, follows = next, true
	}
	return path.String()
}

// hoursOf are the hours for the table, the latest first.
func hoursOf(minutes []figures.Minute) (hours []dayHour) {
	for end := len(minutes); end > 0; {
		hour := beginning(&minutes[end-1]).Truncate(time.Hour)
		begin := end - 1
		for begin > 0 && beginning(&minutes[begin-1]).Truncate(time.Hour).Equal(hour) {
			begin--
		}
		hours = append(hours, hourOf(hour, minutes[begin:end]))
		end = begin
	}
	return hours
}

// hourOf sums up the minutes of an hour: means of what is counted a second, and the highest of the rest.
func hourOf(from time.Time, minutes []figures.Minute) dayHour {
	mean := func(value func(*figures.Minute) float64) string {
		sum, seconds := 0.0, 0.0
		for i := range minutes {
			sum, seconds = sum+value(&minutes[i])*minutes[i].Seconds, seconds+minutes[i].Seconds
		}
		sum /= seconds
		return rate(&sum)
	}
	highest := func(value func(*figures.Minute) *float64) (high *float64) {
		for i := range minutes {
			if v := value(&minutes[i]); v != nil && (high == nil || *v > *high) {
				high = v
			}
		}
		return high
	}
	return dayHour{
		From:        from.Format("2006-01-02 15:04"),
		Reads:       mean(func(m *figures.Minute) float64 { return m.Reads }),
		Writes:      mean(func(m *figures.Minute) float64 { return m.Writes }),
		Errors:      mean(func(m *figures.Minute) float64 { return m.Errors }),
		Expired:     mean(func(m *figures.Minute) float64 { return m.Expired }),
		Evicted:     mean(func(m *figures.Minute) float64 { return m.Evicted }),
		Hit:         percent(hitOf(minutes)),
		P99:         milliseconds(highest(func(m *figures.Minute) *float64 { return m.P99 })),
		Clients:     wholeOf(highest(func(m *figures.Minute) *float64 { return floatOf(m.Clients) })),
		Connections: wholeOf(highest(func(m *figures.Minute) *float64 { return floatOf(&m.Connections) })),
	}
}

// hitOf is the hit ratio of several minutes, each weighed by its reads.
func hitOf(minutes []figures.Minute) *float64 {
	found, reads := 0.0, 0.0
	for i := range minutes {
		if m := &minutes[i]; m.Hit != nil {
			found, reads = found+*m.Hit*m.Reads*m.Seconds, reads+m.Reads*m.Seconds
		}
	}
	if reads == 0 {
		return nil
	}
	found /= reads
	return &found
}
