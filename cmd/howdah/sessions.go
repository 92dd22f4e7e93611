package main

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/session"
)

// sessionPage is how many sessions are listed by one statement.
const sessionPage = 1000

func newSessions() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List and revoke sessions",
		Long: `List and revoke the sessions in a database.

  howdah sessions list --user ada
  howdah sessions revoke 0198c5a2-0d5c-7c3e-9f1a-52c1f0c7f3aa
  howdah sessions revoke --user ada

Neither payloads nor secrets are shown: an id names a session and opens nothing.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q: run \"howdah sessions --help\" for the commands", args[0])
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(newSessionsList(), newSessionsRevoke())
	for _, sub := range cmd.Commands() {
		sub.Args = asUsage(sub.Args)
	}
	return cmd
}

func newSessionsList() *cobra.Command {
	var (
		database databaseFlags
		user     string
		output   outputFormat
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Print the live sessions",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSessions(cmd, &database, func(ctx context.Context, m *session.Manager) error {
				if cmd.Flags().Changed("user") {
					list, err := m.List(ctx, user)
					if err != nil {
						return err
					}
					return printSessions(cmd.OutOrStdout(), &output, list, true)
				}
				for after := (session.ID{}); ; {
					list, err := m.All(ctx, after, sessionPage)
					if err != nil {
						return err
					}
					first := after == session.ID{}
					if err := printSessions(cmd.OutOrStdout(), &output, list, first); err != nil || len(list) < sessionPage {
						return err
					}
					after = list[len(list)-1].ID
				}
			})
		},
	}
	database.add(cmd, "PostgreSQL that holds the sessions")
	cmd.Flags().StringVar(&user, "user", "", "only those of this user, newest first")
	output.add(cmd)
	return cmd
}

func newSessionsRevoke() *cobra.Command {
	var (
		database databaseFlags
		user     string
		output   outputFormat
	)
	cmd := &cobra.Command{
		Use:   "revoke ID | --user U",
		Short: "End a session, or all of a user",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("user") == (len(args) > 0) {
				return usagef("which sessions? give the ID of one, or --user for all of a user")
			}
			var id session.ID
			if len(args) > 0 {
				var err error
				if id, err = session.ParseID(args[0]); err != nil {
					return usagef("%.50q is not the id of a session: take one from \"howdah sessions list\"", args[0])
				}
			}
			return withSessions(cmd, &database, func(ctx context.Context, m *session.Manager) error {
				if len(args) == 0 {
					ended, err := m.RevokeUser(ctx, user)
					if err != nil {
						return err
					}
					return output.print(cmd.OutOrStdout(), revokedJSON{int64(ended)}, fmt.Sprintln(ended))
				}
				ended, err := m.Revoke(ctx, id)
				switch {
				case err != nil:
					return err
				case !ended:
					return fmt.Errorf("no session %s: it may have expired or been revoked", id)
				}
				return output.print(cmd.OutOrStdout(), revokedJSON{1}, "")
			})
		},
	}
	database.add(cmd, "PostgreSQL that holds the sessions")
	cmd.Flags().StringVar(&user, "user", "", "end all sessions of this user, and print how many there were")
	output.add(cmd)
	return cmd
}

// revokedJSON is how many sessions were ended.
type revokedJSON struct {
	Revoked int64 `json:"revoked"`
}

func withSessions(cmd *cobra.Command, database *databaseFlags, fn func(context.Context, *session.Manager) error) error {
	databaseURL, err := database.find()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), commandTimeout)
	defer cancel()
	db, err := howdah.Open(ctx, databaseURL, &howdah.Options{MaxConns: 2, Timeout: commandTimeout})
	if err != nil {
		return err
	}
	defer db.Close()
	manager, err := session.New(db, &session.Options{Timeout: commandTimeout})
	if err != nil {
		return err
	}
	return fn(ctx, manager)
}

// printSessions prints a table, or a line of JSON for each session.
func printSessions(to io.Writer, output *outputFormat, list []session.Info, header bool) error {
	if output.json() {
		for _, s := range list {
			if err := writeJSON(to, s); err != nil {
				return err
			}
		}
		return nil
	}
	out := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	if header {
		fmt.Fprintln(out, "ID\tUSER\tCREATED\tLAST SEEN\tEXPIRES\tBYTES\tIP\tUSER AGENT")
	}
	for _, s := range list {
		ip := ""
		if s.IP != (netip.Addr{}) {
			ip = s.IP.String()
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", s.ID, printable(s.User),
			moment(s.CreatedAt), moment(s.LastSeenAt), moment(s.ExpiresAt), s.Bytes, ip, printable(s.UserAgent))
	}
	return out.Flush()
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// printable takes out what a terminal would obey: users and user agents are
// what a client says.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, text)
}
