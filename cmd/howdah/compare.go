package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/redisapi"
	"github.com/howdah/howdah/internal/transfer"
)

// compareTimeout bounds "howdah compare", which asks a few questions.
const compareTimeout = 30 * time.Second

func newCompare() *cobra.Command {
	var (
		source sourceFlags
		output outputFormat
		keys   int
	)
	cmd := &cobra.Command{
		Use:   "compare URL",
		Short: "Say which commands in use on a Redis server Howdah lacks",
		Long: `Say which commands that clients have sent to a Redis or Valkey server since its start Howdah
lacks or answers differently, which of its keys do not fit, which of its settings matter for a
move, and how to set up Howdah like it. It changes nothing there.

URL is redis://[user:password@]host:port, or rediss:// for TLS. The server counts commands from
its start on: let it run for as long as the rarest job of your application takes.

Of keys it looks at the first --keys, at their types and sizes; collections that may be too large
are read. "howdah import --dry-run" looks at all.

Exits 0 if Howdah lacks nothing that is in use, 1 if it does, and 2 if the command line is wrong.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if keys < 0 {
				return usagef("--keys must not be negative; 0: none")
			}
			address, err := source.address(args[0])
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), compareTimeout)
			defer cancel()
			c, err := transfer.Compare(ctx, address, transfer.CompareOptions{Served: redisapi.Served(), Keys: keys, MaxValueBytes: howdah.DefaultMaxValueBytes})
			if err != nil {
				return err
			}
			if output.json() {
				err = writeJSON(cmd.OutOrStdout(), c)
			} else {
				err = printComparison(cmd.OutOrStdout(), c)
			}
			if err == nil && c.Lacks() {
				err = exitCode(exitFailed)
			}
			return err
		},
	}
	cmd.Flags().IntVar(&keys, "keys", 100_000, "look at so many keys at most for those that Howdah cannot hold; 0: at none")
	source.add(cmd)
	output.add(cmd)
	return cmd
}

func printComparison(w io.Writer, c *transfer.Comparison) error {
	out := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintf(out, "%s, up for %v: %d calls of %d commands\n", c.Server, (time.Duration(c.Uptime) * time.Second).String(), c.Calls,
		len(c.Missing)+len(c.Differs)+len(c.Admin)+len(c.Same))
	printUses(out, "Howdah lacks", c.Missing)
	printUses(out, "Howdah lacks, for administration", c.Admin)
	printUses(out, "Howdah answers differently", c.Differs)
	if len(c.Missing) == 0 {
		fmt.Fprintln(out, "\nHowdah has every command that applications have used.")
	}
	if err := out.Flush(); err != nil {
		return err
	}
	printUnfit(w, c.Unfit)
	fmt.Fprintln(out, "\nSettings")
	for _, s := range c.Notes {
		mark := ""
		if s.Lacking {
			mark = "LACKING: "
		}
		fmt.Fprintf(out, "  %s\t%s\t%s%s\n", s.Name, s.Value, mark, s.Note)
	}
	fmt.Fprintf(out, "\nTo begin with\n  %s\n", strings.Join(c.Suggest, "\n  "))
	return out.Flush()
}

// printUnfit prints keys that Howdah cannot hold.
func printUnfit(w io.Writer, u transfer.Unfit) {
	if u.Keys > 0 {
		fmt.Fprintf(w, "\nKeys that Howdah cannot hold\n%s", refusedKeys(u.Named, u.Keys, ""))
	} else if u.Looked > 0 {
		fmt.Fprintf(w, "\nHowdah can hold every key that was looked at.\n")
	}
	switch {
	case u.Failed != "":
		fmt.Fprintf(w, "After %d keys, of about %d, no more were looked at: %s\n", u.Looked, u.Total, u.Failed)
	case u.Looked < u.Total:
		fmt.Fprintf(w, "%d of about %d keys were looked at: \"howdah import URL --dry-run\" looks at all.\n", u.Looked, u.Total)
	}
}

// printUses prints commands with their calls.
func printUses(out io.Writer, title string, uses []transfer.Use) {
	if len(uses) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\tCALLS\tSHARE\n", title)
	for _, u := range uses {
		fmt.Fprintf(out, "  %s\t%d\t%.2f %%", strings.ReplaceAll(strings.ToUpper(u.Command), "|", " "), u.Calls, 100*u.Share)
		if u.Note != "" {
			fmt.Fprintf(out, "\t%s", plainNote(u.Note))
		}
		fmt.Fprintln(out)
	}
}

// noteLink is a link of Markdown, which the notes of docs/commands.md have.
var noteLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// plainNote is a note for a terminal: a link is its text.
func plainNote(note string) string { return noteLink.ReplaceAllString(note, "$1") }
