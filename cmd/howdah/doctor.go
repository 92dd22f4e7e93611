package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/howdah/howdah/internal/doctor"
	looked "github.com/howdah/howdah/internal/figures"
	"github.com/howdah/howdah/migrate"
)

func newDoctor() *cobra.Command {
	var database databaseFlags
	var cache string
	var verbose bool
	var output outputFormat
	fix := repair{output: &output}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Examine a database, its caches, and hand-made cache and session tables",
		Long: `Examine the settings of a PostgreSQL server, every Howdah cache, and tables that
look like a hand-made cache or session store. Without --fix it only reads, and reads
little: catalogs, statistics, and a few pages of each table.

Each finding says what was seen in this database, why it matters, and which
statement repairs it. docs/doctor.md lists all that it looks for.

Connect as the owner of the database; a member of pg_monitor sees more.

Exit codes: 0 nothing or information only, 1 warnings, 2 errors, or the database
could not be examined.

--fix runs the repair of one finding, after showing its statements and asking for
its id. It exits 0 if all statements succeeded, and 1 if one failed or was refused.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fix.check(); err != nil {
				return err
			}
			databaseURL, err := database.find()
			if err != nil {
				return err
			}
			report, err := examine(cmd.Context(), databaseURL, cache)
			if err != nil {
				return exitTwo{err}
			}
			if fix.id != "" {
				return fix.run(cmd, databaseURL, cache, report)
			}
			if err := writeReport(cmd.OutOrStdout(), report, &output, verbose); err != nil {
				return exitTwo{err}
			}
			return verdict(report)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	database.add(cmd, "PostgreSQL to examine")
	f.StringVar(&cache, "cache", "", "examine only this cache and the server")
	f.BoolVar(&verbose, "verbose", false, "also show information, not only warnings and errors; JSON always holds it")
	fix.add(cmd)
	output.add(cmd)
	mustComplete(cmd, "cache", completeCacheFlag)
	output.addAlias(cmd)
	return cmd
}

func examine(ctx context.Context, databaseURL, cache string) (*doctor.Report, error) {
	conn, err := connect(ctx, databaseURL)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return doctor.Examine(ctx, conn, doctor.Options{
		Cache:       cache,
		CheckSchema: func(ctx context.Context, tx pgx.Tx) error { return migrate.Check(ctx, tx) },
		Servers:     looked.CitusServers(conn.Config()),
	})
}

func writeReport(out io.Writer, report *doctor.Report, output *outputFormat, verbose bool) error {
	if output.json() {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(report)
	}
	style := doctor.Style{Verbose: verbose}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		style.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if width, _, err := term.GetSize(int(file.Fd())); err == nil {
			style.Width = min(width, 100)
		}
	}
	return report.WriteText(out, style)
}

// verdict turns the worst finding into an exit code.
func verdict(report *doctor.Report) error {
	summary := errors.New(strings.TrimSuffix(report.Summary(), "."))
	switch report.Worst() {
	case doctor.Error:
		return exitTwo{summary}
	case doctor.Warning:
		return summary
	}
	return nil
}

// exitTwo is an error after which the program exits with 2, as after a usage
// error.
type exitTwo struct{ error }

func (e exitTwo) Unwrap() error { return e.error }

// As makes run treat it as it treats usageError.
func (e exitTwo) As(target any) bool {
	usage, ok := target.(*usageError)
	if ok {
		*usage = usageError(e)
	}
	return ok
}
