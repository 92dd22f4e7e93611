package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"github.com/spf13/cobra"
)

func newPsql() *cobra.Command {
	var (
		dataDir   string
		superuser bool
	)
	cmd := &cobra.Command{
		Use:   "psql [-- ARGUMENT...]",
		Short: "Open psql on the embedded PostgreSQL that \"howdah serve\" runs",
		Long: `Open psql on the embedded PostgreSQL that a running "howdah serve" has started.
psql must be installed. Arguments behind -- are for psql, and so is the exit code:

  howdah psql
  howdah psql -- -c "SELECT howdah.get_text('db0', 'greeting')"
  howdah psql --superuser -- -c "ALTER SYSTEM SET work_mem = '16MB'"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			url, err := embeddedURL(dataDir, superuser)
			if err != nil {
				return err
			}
			path, err := exec.LookPath("psql")
			if err != nil {
				return errors.New("psql is not installed: install a PostgreSQL client (Debian: apt install postgresql-client), or give the URL that \"howdah url\" prints to another one")
			}
			psql := exec.CommandContext(cmd.Context(), path, append([]string{"--dbname=" + url}, args...)...)
			psql.Stdin, psql.Stdout, psql.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			return runInteractive(psql)
		},
		Args: cobra.ArbitraryArgs,
	}
	addDataDir(cmd, &dataDir)
	addSuperuser(cmd, &superuser)
	return cmd
}

// runInteractive runs a program to its end and takes over its exit code. A
// Ctrl-C of the terminal reaches that program too, which decides what it means.
func runInteractive(program *exec.Cmd) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	defer signal.Stop(signals)
	err := program.Run()
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) {
		if code := exited.ExitCode(); code > 0 {
			return exitCode(code)
		}
		return exitCode(exitFailed) // a signal ended it
	}
	return err
}

// exitCode ends the program with this code and without a message of its own.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }
