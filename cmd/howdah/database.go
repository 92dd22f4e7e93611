package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah/internal/embedded"
	"github.com/howdah/howdah/internal/pgurl"
)

// databaseFlags say which database a command works on: the one that is named,
// else the embedded one of a running "howdah serve".
type databaseFlags struct{ url, dataDir string }

// add adds the flags. usage is what the command does with the database.
func (d *databaseFlags) add(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&d.url, "database-url", "", usage+"; without it, the embedded PostgreSQL of a running \"howdah serve\"")
	fromEnvironment(cmd.Flags(), "database-url")
	addDataDir(cmd, &d.dataDir)
}

func addDataDir(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "data-dir", "", "the --data-dir of that \"howdah serve\" (default "+defaultDir(embedded.DefaultDataDir)+")")
	fromEnvironment(cmd.Flags(), "data-dir")
}

// find returns the URL of the database.
func (d *databaseFlags) find() (string, error) {
	if d.url != "" {
		if _, err := pgurl.Config(d.url); err != nil {
			return "", usageError{fmt.Errorf("--database-url is not valid (want postgres://user@host:5432/database): %w", err)}
		}
		return d.url, nil
	}
	at, err := running(d.dataDir)
	if err != nil {
		return "", usagef("which database? give --database-url postgres://user@host:5432/database, or set HOWDAH_DATABASE_URL: %v", err)
	}
	return at.URL(), nil
}

// running finds the embedded PostgreSQL of a running "howdah serve". dataDir
// may be "", for the default.
func running(dataDir string) (*embedded.Location, error) {
	dataDir, err := orDefault(dataDir, embedded.DefaultDataDir)
	if err != nil {
		return nil, err
	}
	return embedded.Running(dataDir)
}

func newURL() *cobra.Command {
	var (
		dataDir                string
		superuser, redis, http bool
		output                 outputFormat
	)
	cmd := &cobra.Command{
		Use:   "url",
		Short: "Print the URL of a running \"howdah serve\", or of its embedded PostgreSQL",
		Long: `Print the URL of the embedded PostgreSQL that a running "howdah serve" has
started, for other programs on this machine:

  psql "$(howdah url)"
  go run ./examples/login -database "$(howdah url)"

It goes by a Unix socket that only the user who started "howdah serve" can reach,
and root. With --redis or --http it is the URL of that listener, without a password:

  redis-cli -u "$(howdah url --redis)" PING
  curl "$(howdah url --http)/readyz"

Exits 1 if no such server is running.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			url, err := "", error(nil)
			switch {
			case redis && http, (redis || http) && superuser:
				return usagef("give one of --redis, --http and --superuser")
			case redis:
				url, err = listenerURL(dataDir, "redis")
			case http:
				url, err = listenerURL(dataDir, "http")
			default:
				url, err = embeddedURL(dataDir, superuser)
			}
			if err != nil {
				return err
			}
			return output.print(cmd.OutOrStdout(), map[string]string{"url": url}, url+"\n")
		},
	}
	addDataDir(cmd, &dataDir)
	addSuperuser(cmd, &superuser)
	cmd.Flags().BoolVar(&redis, "redis", false, "print the URL of the Redis listener")
	cmd.Flags().BoolVar(&http, "http", false, "print the URL of the HTTP listener")
	output.add(cmd)
	return cmd
}

func addSuperuser(cmd *cobra.Command, superuser *bool) {
	cmd.Flags().BoolVar(superuser, "superuser", false, "connect as the superuser, to database postgres")
}

func embeddedURL(dataDir string, superuser bool) (string, error) {
	at, err := running(dataDir)
	switch {
	case errors.Is(err, embedded.ErrNotRunning):
		return "", fmt.Errorf("%w: start it with \"howdah serve\", or name the data directory of one that runs with --data-dir", err)
	case err != nil:
		return "", err
	case superuser:
		return at.SuperURL(), nil
	}
	return at.URL(), nil
}
