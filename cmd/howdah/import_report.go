package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah/internal/transfer"
)

// transferReport prints how far a transfer is, and what it has done.
type transferReport struct {
	cmd     *cobra.Command
	line    *progressLine
	json    bool
	refused string // the file of refused keys
	dry     bool   // nothing is stored
	began   time.Time
	last    time.Time // of a line of JSON
}

// event is a line of JSON.
type event struct {
	Event   string   `json:"event"` // progress, notice or done
	Text    string   `json:"text,omitempty"`
	Seconds float64  `json:"seconds"`
	Total   int64    `json:"total,omitempty"`
	Left    *float64 `json:"seconds_left,omitempty"`
	Result  any      `json:"result,omitempty"`
}

func (t *transferReport) write(e event) error {
	e.Seconds = time.Since(t.began).Seconds()
	return writeJSON(t.cmd.OutOrStdout(), e)
}

// say tells a person something at once.
func (t *transferReport) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if t.json {
		_ = t.write(event{Event: "notice", Text: text})
		return
	}
	t.line.clear()
	fmt.Fprintln(t.cmd.ErrOrStderr(), text)
}

func (t *transferReport) progress(p transfer.Progress) {
	rate := float64(p.Seen) / max(p.Elapsed.Seconds(), 0.001)
	var left *float64
	if p.Total > p.Keys && rate > 0 {
		seconds := float64(p.Total-p.Keys) / rate
		left = &seconds
	}
	if t.json {
		if time.Since(t.last) >= time.Second {
			t.last = time.Now()
			_ = t.write(event{Event: "progress", Total: p.Total, Left: left, Result: p.Counts})
		}
		return
	}
	text := fmt.Sprintf("%d keys", p.Keys)
	if p.Checked > 0 {
		text = fmt.Sprintf("%d keys of the source are compared; %d keys of the cache were looked for in it", p.Keys, p.Checked)
		t.line.show(text)
		return
	}
	if p.Total > 0 {
		text = fmt.Sprintf("%d of about %d keys (%.0f %%)", p.Keys, p.Total, 100*float64(p.Keys)/float64(p.Total))
	}
	text += fmt.Sprintf(", %.0f a second", rate)
	if left != nil {
		text += fmt.Sprintf(", about %v left", (time.Duration(*left) * time.Second).Round(time.Second))
	}
	if n := p.RefusedKeys(); n > 0 {
		text += fmt.Sprintf(", %d refused", n)
	}
	t.line.show(text)
}

// finish prints a result. The code is 1 if something is left to do.
func (t *transferReport) finish(result any, text string, open bool) error {
	var err error
	if t.json {
		err = t.write(event{Event: "done", Result: result})
	} else {
		_, err = io.WriteString(t.cmd.OutOrStdout(), text)
	}
	if err == nil && open {
		err = exitCode(exitFailed)
	}
	return err
}

// copied reports an import.
func (t *transferReport) copied(c transfer.Counts) error {
	var b strings.Builder
	stored := "stored"
	if t.dry {
		stored = "would be stored"
	}
	fmt.Fprintf(&b, "%d keys: %d %s (%s)", c.Keys, c.Stored, stored, size(c.Bytes))
	for _, part := range []struct {
		n    int64
		text string
	}{{c.Kept, "kept as the cache had them"}, {c.Gone, "gone before they were read"}, {c.Skipped, "not wanted"}} {
		if part.n > 0 {
			fmt.Fprintf(&b, ", %d %s", part.n, part.text)
		}
	}
	fmt.Fprintf(&b, "; this run took %v\n%s", time.Since(t.began).Round(10*time.Millisecond), named("types", c.Types))
	t.refusals(&b, c.Refused, c.RefusedKeys(), c.Named)
	return t.finish(c, b.String(), c.RefusedKeys() > 0)
}

// refusals says what was refused, and where the keys are.
func (t *transferReport) refusals(b *strings.Builder, reasons map[string]int64, n int64, first []transfer.Refusal) {
	if n == 0 {
		return
	}
	b.WriteString(named("refused", reasons))
	b.WriteString(refusedKeys(first, n, ""))
	fmt.Fprintf(b, "the refused keys are named in %s\n", t.refused)
}

// refusedKeys names the first of n keys, and why each is refused. file has the others; "": none has.
func refusedKeys(first []transfer.Refusal, n int64, file string) string {
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, r := range first {
		where := strings.TrimSpace(r.Cache + " " + r.Type)
		key := fmt.Sprintf("%.60q", r.Key)
		switch {
		case r.Key64 != "":
			key = fmt.Sprintf("%.60s (base64)", r.Key64)
		case r.Key == "" && r.Line > 0:
			key = fmt.Sprintf("line %d", r.Line)
		}
		reason := r.Reason
		if r.Limit > 0 {
			has, limit := size(r.Bytes), size(r.Limit)
			if has == limit {
				has, limit = fmt.Sprintf("%d bytes", r.Bytes), fmt.Sprint(r.Limit)
			}
			reason += fmt.Sprintf(": %s, the limit is %s", has, limit)
		}
		fmt.Fprintf(out, "  %s\t%s\t%s\n", where, key, printable(reason))
	}
	_ = out.Flush()
	if rest := n - int64(len(first)); rest > 0 && len(first) > 0 {
		fmt.Fprintf(&b, "  ... and %d more", rest)
		if file != "" {
			fmt.Fprintf(&b, ", in %s", file)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// named is a line of counts by name.
func named(title string, counts map[string]int64) string {
	if len(counts) == 0 {
		return ""
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return title + ": " + strings.Join(parts, ", ") + "\n"
}

// size is a number of bytes for people.
func size(n int64) string {
	const unit = 1024
	switch {
	case n < unit:
		return fmt.Sprintf("%d B", n)
	case n < unit*unit:
		return fmt.Sprintf("%.1f KiB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MiB", float64(n)/unit/unit)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/unit/unit/unit)
}

// surveyed reports a dry run.
func (t *transferReport) surveyed(s transfer.Survey) error {
	took := time.Since(t.began)
	var b strings.Builder
	fmt.Fprintf(&b, "%d keys, of which %d would be copied: about %s in the source\n", s.Keys, s.Stored, size(s.Bytes))
	b.WriteString(named("types", s.Types))
	b.WriteString(named("would be refused", s.Refused))
	b.WriteString(refusedKeys(s.Named, s.RefusedKeys(), ""))
	for _, cache := range s.Absent {
		fmt.Fprintf(&b, "the cache %s does not exist yet\n", cache)
	}
	for _, cache := range s.Over {
		fmt.Fprintf(&b, "the budget of the cache %s (max_bytes) is smaller: entries would be evicted or refused\n", cache)
	}
	fmt.Fprintf(&b, "this look at the keys took %v; a copy also reads and stores the values, and takes some times as long\n", took.Round(10*time.Millisecond))
	var refused int64
	for _, n := range s.Refused {
		refused += n
	}
	return t.finish(s, b.String(), refused > 0)
}

// compared reports a comparison of all keys.
func (t *transferReport) compared(d transfer.Differences, repaired bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d keys of the source in %v: %d equal, %d missing, %d different", d.Keys, time.Since(t.began).Round(10*time.Millisecond), d.Equal, d.Missing, d.Different())
	if d.ExtrasSeen {
		fmt.Fprintf(&b, "; %d keys of the cache are not in the source\n", d.Extra)
	} else {
		b.WriteString("; with --match or --type, keys that the source has not are not looked for\n")
	}
	b.WriteString(named("different", d.Differ))
	var refused int64
	for _, n := range d.Refused {
		refused += n
	}
	t.refusals(&b, d.Refused, refused, nil)
	b.WriteString(refusedKeys(d.Named, d.Open(), t.refused))
	if !repaired && d.Open() > refused {
		fmt.Fprintf(&b, "the keys are named in %s; --repair copies what is missing or different\n", t.refused)
	}
	if repaired {
		fmt.Fprintf(&b, "%d repaired, %d deleted\n", d.Repaired, d.Deleted)
	}
	return t.finish(d, b.String(), d.Open() > 0)
}
