package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/spf13/cobra"

	"github.com/howdah/howdah/internal/doctor"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pgurl"
)

// repair is what the flags of "howdah doctor --fix" ask for.
type repair struct {
	id, object string
	confirm    confirmation
	output     *outputFormat
}

func (r *repair) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.id, "fix", "", "show the statements that repair the finding with this id, ask, and run them one by one")
	f.StringVar(&r.object, "object", "", "with --fix: the object of the finding, where several have the id")
	r.confirm.add(cmd, "with --fix and --object: do not ask")
}

func (r *repair) check() error {
	switch {
	case r.id == "" && (r.object != "" || r.confirm.yes):
		return usagef("--object and --yes belong to --fix")
	case r.confirm.yes && r.object == "":
		return usagef("--yes needs --object too: what is repaired without asking must be named in full")
	}
	return nil
}

// repairJSON is what "howdah doctor --fix" did.
type repairJSON struct {
	ID         string          `json:"id"`
	Object     string          `json:"object"`
	Statements []statementJSON `json:"statements"` // those that succeeded
	Found      bool            `json:"found"`      // whether the finding is still there
}

type statementJSON struct {
	Statement string  `json:"statement"`
	Result    string  `json:"result"` // PostgreSQL's command tag
	Seconds   float64 `json:"seconds"`
}

// run repairs one finding of the report.
func (r *repair) run(cmd *cobra.Command, databaseURL, cache string, report *doctor.Report) error {
	finding, err := r.find(report)
	if err != nil {
		return err
	}
	if len(finding.Repair) == 0 {
		return fmt.Errorf("no statement repairs %s of %s: %s", finding.ID, printable(finding.Object), printable(finding.Note))
	}
	steps := finding.Steps()
	if !r.confirm.yes {
		announce(cmd.ErrOrStderr(), finding, steps)
	}
	if err := r.confirm.ask(cmd, "the id of the finding", finding.ID, "nothing was changed"); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	done := repairJSON{ID: finding.ID, Object: finding.Object}
	for i, step := range steps {
		result, err := runStep(ctx, databaseURL, step)
		if err != nil {
			return fmt.Errorf("statement %d of %d failed: %w", i+1, len(steps), explain(ctx, err, i, step.Atomic))
		}
		done.Statements = append(done.Statements, result)
		if !r.output.json() {
			fmt.Fprintf(cmd.OutOrStdout(), "%d of %d: %s (%.1f s)\n", i+1, len(steps), result.Result, result.Seconds)
		}
	}
	after, err := examine(ctx, databaseURL, cache)
	if err != nil {
		return fmt.Errorf("repaired, but the examination after it failed: %w", err)
	}
	text := "repaired: the finding is no longer there\n"
	for _, f := range after.Findings {
		if f.ID == finding.ID && f.Object == finding.Object {
			done.Found = true
			text = "all statements ran, and the finding is still there: statistics arrive late, so examine again in a minute\n"
		}
	}
	return r.output.print(cmd.OutOrStdout(), done, text)
}

// find returns the one finding that is meant.
func (r *repair) find(report *doctor.Report) (*doctor.Finding, error) {
	var found []*doctor.Finding
	var objects []string
	for i := range report.Findings {
		f := &report.Findings[i]
		if f.ID != r.id {
			continue
		}
		objects = append(objects, printable(f.Object))
		if r.object == "" || f.Object == r.object {
			found = append(found, f)
		}
	}
	switch {
	case len(objects) == 0:
		return nil, fmt.Errorf("there is no finding %q in this database: \"howdah doctor --verbose\" shows those that there are", r.id)
	case len(found) == 0:
		return nil, fmt.Errorf("%s was not found for %q, but for: %s", r.id, r.object, strings.Join(objects, ", "))
	case len(found) > 1:
		return nil, usagef("%s was found for several objects, and one is repaired at a time: give --object with one of: %s", r.id, strings.Join(objects, ", "))
	}
	return found[0], nil
}

// announce shows what would run, and what that does to others.
func announce(out io.Writer, f *doctor.Finding, steps []doctor.Step) {
	fmt.Fprintf(out, "%s: %s\n\n  Seen    %s\n  Why     %s\n", printable(f.Object), f.ID, printable(f.Evidence), f.Why)
	if f.Note != "" {
		fmt.Fprintf(out, "  Note    %s\n", printable(f.Note))
	}
	fmt.Fprintln(out, "\nThese statements run one by one, each by itself:")
	for i, step := range steps {
		fmt.Fprintf(out, "\n%d of %d\n", i+1, len(steps))
		for line := range strings.Lines(strings.TrimRight(step.Statement, "; \n") + ";") {
			fmt.Fprintf(out, "    %s\n", printable(strings.TrimRight(line, "\n")))
		}
		if step.Warning != "" {
			fmt.Fprintf(out, "  %s\n", step.Warning)
		}
		if step.LockTimeout > 0 {
			fmt.Fprintf(out, "  It waits for locks for at most %v.\n", step.LockTimeout)
		}
	}
	fmt.Fprintln(out)
}

// runStep runs a statement on a connection of its own, so that its timeouts are
// those of no other statement. Ctrl-C cancels it in the database and waits for
// that.
func runStep(ctx context.Context, databaseURL string, step doctor.Step) (statementJSON, error) {
	config, err := pgurl.Config(databaseURL)
	if err != nil {
		return statementJSON{}, err
	}
	config.RuntimeParams["lock_timeout"] = fmt.Sprint(step.LockTimeout.Milliseconds())
	config.RuntimeParams["statement_timeout"] = "0" // a role's own would leave half-made indexes
	config.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: 10 * time.Second}
	}
	conn, err := pgconn.ConnectConfig(ctx, &config.Config)
	if err != nil {
		return statementJSON{}, fmt.Errorf("%w; if a pooler is in between, give the URL of PostgreSQL itself", fault.Unreachable(err))
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // what was done is done
	began := time.Now()
	results, err := conn.Exec(ctx, step.Statement).ReadAll()
	if err != nil {
		return statementJSON{}, err
	}
	tag := ""
	for _, result := range results {
		tag = result.CommandTag.String()
	}
	return statementJSON{step.Statement, tag, time.Since(began).Seconds()}, nil
}

// explain adds to an error what was done before it, and what to do.
func explain(ctx context.Context, err error, done int, atomic bool) error {
	before := "nothing was changed"
	switch {
	case !atomic:
		before = "it may have done a part of its work: examine again"
	case done > 0:
		before = "the statements before it have run"
	}
	var refused *pgconn.PgError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("it was stopped, and %s", before)
	case errors.As(err, &refused) && refused.Code == "55P03": // lock_not_available
		return fmt.Errorf("the lock was not free in time, and %s: try again when less is going on", before)
	}
	return fmt.Errorf("%w; %s", err, before)
}
