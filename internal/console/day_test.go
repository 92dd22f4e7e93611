package console

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/figures"
	"github.com/howdah/howdah/internal/test/await"
)

// noon is when the days of these tests begin.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// aDay is a day of minutes with one read a second.
func aDay() (minutes []figures.Minute) {
	for i := range figures.DayPoints {
		minutes = append(minutes, figures.Minute{At: noon.Add(time.Duration(i+1) * time.Minute), Seconds: 60, Reads: 1})
	}
	return minutes
}

func readsOf(m *figures.Minute) *float64 { return &m.Reads }

// One busy minute of a whole day is in the curve at its full height, and the curve stays small whatever happened.
func TestACurveOfADayKeepsItsPeaks(t *testing.T) {
	t.Parallel()
	minutes := aDay()
	minutes[700].Reads = 100
	path := dayPath(minutes, readsOf, 100)
	require.Equal(t, 1, strings.Count(path, " 1.0"), path)
	require.Equal(t, 1, strings.Count(path, "M"), "nothing is missing")
	for i := range minutes {
		minutes[i].Reads = float64(i % 7)
	}
	require.LessOrEqual(t, strings.Count(dayPath(minutes, readsOf, 6), "L"), 2*(daySteps+1))
}

// Time without a process, and minutes without a value, are gaps. A minute alone is a dot.
func TestACurveOfADayHasGaps(t *testing.T) {
	t.Parallel()
	minutes := append(aDay()[:2:2], aDay()[600:602]...)
	require.Equal(t, 2, strings.Count(dayPath(minutes, readsOf, 1), "M"))
	half := 0.5
	minutes[1].Hit, minutes[3].Hit = &half, &half
	path := dayPath(minutes, func(m *figures.Minute) *float64 { return m.Hit }, 1)
	require.Equal(t, 2, strings.Count(path, "Mh")+strings.Count(path, "h.5"), path)
	require.Empty(t, dayPath(minutes, func(m *figures.Minute) *float64 { return m.P99 }, 1))
	require.Equal(t, "M0.0 1.0h.5L0.0 1.0", dayPath(minutes[:1], readsOf, 1))
}

// The words beside a curve say when it was highest.
func TestACurveOfADayInWords(t *testing.T) {
	t.Parallel()
	minutes := aDay()
	minutes[59].Reads, minutes[60].Reads = 1234, 0
	drawn := dayFigureOf(0, minutes)
	require.Equal(t, []string{"Reads a second", "1", "Lowest 0, highest 1,234 at 13:00"}, []string{drawn.Name, drawn.Now, drawn.Span})
	require.Contains(t, string(drawn.Drawn), `role="img" aria-label="Reads a second: now 1. Lowest 0, highest 1,234 at 13:00"`)
	require.Equal(t, "Always 0", dayFigureOf(1, minutes).Span)
	nothing := dayFigureOf(2, minutes)
	require.Equal(t, []string{"–", "Nothing is known"}, []string{nothing.Now, nothing.Span})
	require.Contains(t, string(nothing.Drawn), "Hit ratio: nothing is known")
}

// The table has means by the hour, the hit ratio weighed by reads, and the highest of what has no mean.
func TestHoursOfADay(t *testing.T) {
	t.Parallel()
	minutes := aDay()[:90]
	all, none, slow, clients := 1.0, 0.0, 0.008, int64(12)
	minutes[0].Hit, minutes[0].Reads = &all, 30
	minutes[1].Hit, minutes[1].Reads = &none, 10
	minutes[2].P99, minutes[3].Clients = &slow, &clients
	minutes[4].Errors = 6
	hours := hoursOf(minutes)
	require.Len(t, hours, 2)
	require.Equal(t, dayHour{
		From: "2026-03-01 12:00", Reads: "1.63", Writes: "0", Errors: "0.10", Expired: "0", Evicted: "0",
		Hit: "75 %", P99: "8 ms", Clients: "12", Connections: "0",
	}, hours[1])
	require.Equal(t, "2026-03-01 13:00", hours[0].From)
	require.Equal(t, []string{"1", "–", "–", "–"}, []string{hours[0].Reads, hours[0].Hit, hours[0].P99, hours[0].Clients})
}

// The page shows what was counted before anybody looked, asks the database nothing, and says what it is of.
func TestPageOfTheDay(t *testing.T) {
	t.Parallel()
	var f *figures.Figures
	s := open(t, func(o *Options) {
		f = figures.New(figures.Options{DB: o.DB, Minute: 50 * time.Millisecond})
		t.Cleanup(f.Close)
		o.Figures = f
	})
	b := s.browser(viewerToken)
	b.get("history").want(t, 200).has(t, "This process keeps no such figures").lacks(t, "<figure>")

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { f.Record(ctx); close(ended) }()
	await.True(t, "it records", func() bool { _, since := f.Day(); return !since.IsZero() })
	cache := (*howdah.DB)(s.db).Cache("db0")
	_, err := cache.Get(t.Context(), "absent")
	require.ErrorIs(t, err, howdah.ErrMiss)
	await.True(t, "a minute has the read, and a later one has none", func() bool {
		minutes, _ := f.Day()
		busy := slices.IndexFunc(minutes, func(m figures.Minute) bool { return m.Reads > 0 })
		return busy >= 0 && busy < len(minutes)-1
	})
	cancel()
	<-ended
	s.sent.take()
	page := b.get("history").want(t, 200).has(t, `<main id="main" tabindex="-1" data-live="60">`, "By the hour, as a table", "/v1/history")
	require.Empty(t, s.sent.take())
	for _, kind := range dayKinds {
		page.has(t, `<span class="label">`+kind.name, `aria-label="`+kind.name+": ")
	}
	require.Regexp(t, `aria-label="Reads a second: now 0\. Lowest 0, highest [1-9]`, page.body)
	b.get("").has(t, `href="./history"`)
}
