package claims

import (
	"fmt"
	"slices"
	"strings"

	"github.com/howdah/howdah/bench/internal/result"
)

const preamble = `# Claims, measured

<!-- Written by "howdah-bench report". Do not edit. -->

What others have written about PostgreSQL as a cache and a session store, and what this repository promises,
each beside a measurement that you can repeat: in the folder ` + "`bench`" + `, type ` + "`go run ./cmd/`" + ` and the command.
[benchmarks.md](benchmarks.md) has all numbers, the machine, and how they were taken.

**confirmed** means that the claim held in every round; **refuted**, that it failed in every round; **depends**,
that rounds or parts of the claim differ, as the sentence says, or that there was only one round. What had to hold
stands beside it. The claims are in our words.

`

// Page is the document that sets every claim beside what was measured.
func Page(results []*result.Result) string {
	var b strings.Builder
	b.WriteString(preamble)
	listed := map[string]bool{}
	for _, a := range All() {
		var rows []row
		for _, c := range a.Claims {
			listed[c.Text] = true
			rows = append(rows, rowOf(c, results))
		}
		section(&b, a.Title, a.About, rows)
	}
	var others []row
	for _, r := range results {
		for _, v := range r.Verdicts {
			if !listed[v.Claim] {
				others = append(others, rowOf(Claim{r.Experiment, v.Claim, v.Source}, results))
			}
		}
	}
	if len(others) > 0 {
		section(&b, "More of what was measured", "", others)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

type row struct{ claim, figure, ours, bar, verdict, command string }

// rowOf finds the verdict on a claim.
func rowOf(c Claim, results []*result.Result) row {
	out := row{claim: c.Text, figure: c.Figure, ours: "not measured yet", command: "`howdah-bench run " + c.Experiment + "`"}
	i := slices.IndexFunc(results, func(r *result.Result) bool { return r.Experiment == c.Experiment })
	if i < 0 {
		return out
	}
	r := results[i]
	j := slices.IndexFunc(r.Verdicts, func(v result.Verdict) bool { return v.Claim == c.Text })
	if j < 0 {
		return out
	}
	v := r.Verdicts[j]
	out.ours, out.bar = v.Ours, v.Bar
	out.verdict = fmt.Sprintf("**%s**: %s", v.Word, v.Sentence)
	switch fewest, most := r.Rounds(); {
	case fewest < most:
		out.verdict += fmt.Sprintf(" (From numbers of %d to %d rounds.)", fewest, most)
	case most == 1:
		out.verdict += " (From 1 round.)"
	case most > 1:
		out.verdict += fmt.Sprintf(" (From %d rounds.)", most)
	}
	switch {
	case r.Forced:
		out.verdict += " (Taken on a busy machine: not to be relied upon.)"
	case r.Quick:
		out.verdict += " (From a quick run.)"
	}
	return out
}

func section(b *strings.Builder, title, about string, rows []row) {
	fmt.Fprintf(b, "## %s\n\n", title)
	if about != "" {
		fmt.Fprintf(b, "%s\n\n", about)
	}
	b.WriteString("| Claim | Its figure | Measured here | Confirmed if, in every round | Verdict | Command |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		for _, cell := range []string{r.claim, r.figure, r.ours, r.bar, r.verdict, r.command} {
			b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	b.WriteString("\n")
}
