package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/howdah/howdah/bench/internal/chart"
	"github.com/howdah/howdah/bench/internal/result"
)

// ratios are one row for each pair of contestants, one column for each case.
// A target that was missed is said so in words.
func ratios(b *strings.Builder, r *result.Result) {
	if len(r.Ratios) == 0 {
		return
	}
	var rows, cases []string
	cells := map[string]result.Ratio{}
	for _, x := range r.Ratios {
		row := fmt.Sprintf("%s: %s / %s", x.Group, x.Of, x.To)
		if !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
		if !slices.Contains(cases, x.Case) {
			cases = append(cases, x.Case)
		}
		cells[row+"\x00"+x.Case] = x
	}
	header(b, append([]string{"Ratio (median of the rounds)"}, cases...))
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
	if x.Target == 0 {
		return text
	}
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

func verdicts(b *strings.Builder, r *result.Result) {
	if len(r.Verdicts) == 0 {
		return
	}
	header(b, []string{"Claim", "Source", "Here", "Confirmed if, in every round", "Verdict"})
	for _, v := range r.Verdicts {
		line(b, []string{v.Claim, v.Source, v.Ours, v.Bar, fmt.Sprintf("**%s**: %s", v.Word, v.Sentence)})
	}
	b.WriteString("\n")
}

// numbers is a group's table: a row for each contestant under each condition,
// a column for each metric, with the spread of the rounds.
func numbers(b *strings.Builder, r *result.Result, group string) {
	var metrics []result.Metric // names and units only
	for _, p := range r.Points {
		for _, m := range p.Metrics {
			known := slices.ContainsFunc(metrics, func(k result.Metric) bool { return k.Name == m.Name })
			if p.Group == group && !known {
				metrics = append(metrics, m)
			}
		}
	}
	fmt.Fprintf(b, "**%s**\n\n", group)
	names := []string{"", ""}
	for _, m := range metrics {
		names = append(names, m.Name+", "+m.Unit)
	}
	header(b, names)
	for _, which := range r.Cases(group) {
		for _, series := range r.Series(group) {
			fields := []string{which, series}
			measured := false
			for _, m := range metrics {
				x, ok := r.Find(group, which, series, m.Name)
				if !ok {
					fields = append(fields, "")
					continue
				}
				measured = true
				fields = append(fields, chart.Number(x.Median())+" "+spread(x.Rounds))
			}
			if measured {
				line(b, fields)
			}
		}
	}
	b.WriteString("\n")
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
