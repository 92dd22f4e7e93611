package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/howdah/howdah/bench/internal/chart"
	"github.com/howdah/howdah/bench/internal/result"
)

// write is the table with the medians of a result; nothing if the group was not measured.
func (t table) write(b *strings.Builder, r *result.Result) {
	cases, series := r.Cases(t.group), r.Series(t.group)
	if len(cases) == 0 {
		return
	}
	slices.Sort(series) // who began a round is no order
	head := strings.Replace(strings.Join(t.metrics, ", "), "throughput", "rate", 1)
	header(b, append([]string{t.group + ": " + head}, series...))
	for _, which := range cases {
		fields := []string{which}
		for _, name := range series {
			fields = append(fields, t.cell(r, which, name))
		}
		line(b, fields)
	}
	b.WriteString("\n")
}

// cell is the numbers of a contestant, a dash for what it does not have.
func (t table) cell(r *result.Result, which, series string) string {
	var numbers []string
	for _, name := range t.metrics {
		m, ok := r.Find(t.group, which, series, name)
		if !ok {
			numbers = append(numbers, "–")
			continue
		}
		unit, _ := strings.CutSuffix(m.Unit, " of a core")
		if !strings.HasPrefix(unit, "/") {
			unit = " " + unit
		}
		numbers = append(numbers, chart.Number(m.Median())+unit)
	}
	return strings.Join(numbers, ", ")
}

// ratios are one row for each pair of contestants, one column for each case,
// of the ratios that have a target. A target that was missed is said so in
// words.
func ratios(b *strings.Builder, r *result.Result) {
	var rows, cases []string
	cells := map[string]result.Ratio{}
	for _, x := range r.Ratios {
		if x.Target == 0 {
			continue
		}
		row := fmt.Sprintf("%s: %s / %s", x.Group, x.Of, x.To)
		if !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
		if !slices.Contains(cases, x.Case) {
			cases = append(cases, x.Case)
		}
		cells[row+"\x00"+x.Case] = x
	}
	if len(rows) == 0 {
		return
	}
	header(b, append([]string{"Ratio (goal)"}, cases...))
	for _, row := range rows {
		fields := []string{row}
		for _, which := range cases {
			x, ok := cells[row+"\x00"+which]
			if !ok {
				fields = append(fields, "")
				continue
			}
			fields = append(fields, ratio(x))
		}
		line(b, fields)
	}
	b.WriteString("\n")
}

func ratio(x result.Ratio) string {
	text := fmt.Sprintf("%.2f %s", x.Median(), spread(x.Rounds))
	bound := "≥"
	if x.AtMost {
		bound = "≤"
	}
	if x.Met() {
		return fmt.Sprintf("**%s** (%s %g)", text, bound, x.Target)
	}
	return fmt.Sprintf("%s (%s %g missed)", text, bound, x.Target)
}

// spread is how far the rounds lie apart, which one round cannot tell.
func spread(rounds []float64) string {
	if len(rounds) == 1 {
		return "(1 round)"
	}
	return fmt.Sprintf("± %.0f %%", 100*result.Spread(rounds))
}

func header(b *strings.Builder, fields []string) {
	line(b, fields)
	b.WriteString(strings.Repeat("|---", len(fields)) + "|\n")
}

func line(b *strings.Builder, fields []string) {
	b.WriteString("|")
	for _, f := range fields {
		b.WriteString(" " + strings.ReplaceAll(f, "|", `\|`) + " |")
	}
	b.WriteString("\n")
}
