package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/howdah/howdah/internal/cluster"
	"github.com/howdah/howdah/internal/fault"
)

// serversCommand is one run of "howdah servers", of "howdah servers add" or of "howdah rebalance".
type serversCommand struct {
	database databaseFlags
	output   outputFormat
}

func (c *serversCommand) add(cmd *cobra.Command) {
	c.database.add(cmd, "the coordinator of Citus, as the owner of the schema")
	c.output.add(cmd)
}

// with calls fn with the coordinator.
func (c *serversCommand) with(cmd *cobra.Command, fn func(context.Context, *pgx.ConnConfig) error) error {
	databaseURL, err := c.database.find()
	if err != nil {
		return err
	}
	config, err := coordinator(databaseURL)
	if err != nil {
		return err
	}
	return fault.Unreachable(fn(cmd.Context(), config))
}

func newServers() *cobra.Command {
	var c serversCommand
	cmd := &cobra.Command{
		Use:   "servers",
		Short: "Print the servers that Citus spreads a database over, and how they are",
		Long: `Print the servers that Citus spreads a database over: which partitions each holds,
about how many entries and how many bytes, and whether its schema, seed and settings
fit those of the coordinator. It fails if one does not.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(ctx context.Context, config *pgx.ConnConfig) error {
				states, err := cluster.List(ctx, config)
				if err != nil {
					return err
				}
				return c.print(cmd, states)
			})
		},
	}
	c.add(cmd)
	add := newServersAdd()
	add.Args = asUsage(add.Args)
	cmd.AddCommand(add)
	return cmd
}

// serverJSON is one server of "howdah servers".
type serverJSON struct {
	Number     int    `json:"number"`
	Address    string `json:"address"`
	Role       string `json:"role"` // coordinator or worker
	Holds      bool   `json:"holds_partitions"`
	Partitions []int  `json:"partitions"`
	Entries    int64  `json:"entries"`
	Bytes      int64  `json:"bytes"`
	Problem    string `json:"problem"` // "": it fits
}

// print prints servers. Error: if one does not fit.
func (c *serversCommand) print(cmd *cobra.Command, states []cluster.State) error {
	out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
	if !c.output.json() {
		fmt.Fprintln(out, "NUMBER\tADDRESS\tROLE\tPARTITIONS\tENTRIES\tBYTES\tSTATE")
	}
	var unfit []string
	for _, s := range states {
		role := roleText(s.Number)
		state := "fits"
		if s.Problem != "" {
			state = s.Problem
			unfit = append(unfit, s.Address())
		}
		if c.output.json() {
			if err := writeJSON(cmd.OutOrStdout(), serverJSON{s.Number, s.Address(), role, s.Holds, s.Partitions, s.Entries, s.Bytes, s.Problem}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(out, "%d\t%s\t%s\t%s\t%d\t%d\t%s\n", s.Number, s.Address(), role, numbersText(s.Partitions), s.Entries, s.Bytes, state)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if unfit != nil {
		return errors.New("not all servers fit: " + strings.Join(unfit, ", "))
	}
	return nil
}

// numbersText is a list of numbers.
func numbersText(numbers []int) string {
	if len(numbers) == 0 {
		return "none"
	}
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ",")
}

func newServersAdd() *cobra.Command {
	var c serversCommand
	cmd := &cobra.Command{
		Use:   "add HOST:PORT",
		Short: "Install the schema on a new server, and tell Citus of it",
		Long: `Install the schema on a new server, and tell Citus of it. There must be the
database with the extension citus, and the role that owns the schema. It is reached with
the user and password of --database-url, which must be a superuser's. It gets partitions by
"howdah rebalance".`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			host, text, err := net.SplitHostPort(args[0])
			port, wrong := strconv.ParseUint(text, 10, 16)
			if err != nil || wrong != nil || host == "" {
				return usagef("%q is no address: want HOST:PORT, as in db2.example.com:5432", args[0])
			}
			return c.with(cmd, func(ctx context.Context, config *pgx.ConnConfig) error {
				added, err := cluster.Add(ctx, config, host, int(port))
				if err != nil {
					return err
				}
				return c.output.print(cmd.OutOrStdout(), preparedJSON(added, added.Partitions, ""),
					schemaText(added.Result)+fmt.Sprintf("%s is a server of this database; \"howdah rebalance\" gives it partitions\n", added.Address()))
			})
		},
	}
	c.add(cmd)
	return cmd
}

// moveJSON is one move of "howdah rebalance".
type moveJSON struct {
	Partition int    `json:"partition"`
	From      string `json:"from"`
	To        string `json:"to"`
	Made      bool   `json:"made"` // false with --dry-run
}

func newRebalance() *cobra.Command {
	var c serversCommand
	var opts cluster.RebalanceOptions
	cmd := &cobra.Command{
		Use:   "rebalance",
		Short: "Move partitions until all servers of Citus hold as much",
		Long: `Move partitions, one after the other, until all servers of Citus hold as much. While
one moves, writes to it wait; reads go on. Interrupt it at any time, and run it again.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(ctx context.Context, config *pgx.ConnConfig) error {
				return c.rebalance(ctx, cmd, config, opts)
			})
		},
	}
	c.add(cmd)
	cmd.Flags().BoolVar(&opts.DryRun, "dry-run", false, "print the moves, and make none")
	cmd.Flags().StringVar(&opts.Drain, "drain", "", "the `address` of a server that is to hold no partition any more, as \"howdah servers\" shows it; needs a superuser")
	return cmd
}

func (c *serversCommand) rebalance(ctx context.Context, cmd *cobra.Command, config *pgx.ConnConfig, opts cluster.RebalanceOptions) error {
	var failed error
	print := func(m cluster.Move, text string) {
		failed = errors.Join(failed, c.output.print(cmd.OutOrStdout(), moveJSON{m.Partition, m.From, m.To, !opts.DryRun}, text))
	}
	opts.Moved = func(m cluster.Move, left int) {
		print(m, fmt.Sprintf("moved partition %d from %s to %s, %d left\n", m.Partition, m.From, m.To, left))
	}
	moves, err := cluster.Rebalance(ctx, config, opts)
	switch {
	case err != nil:
		return err
	case opts.DryRun:
		for _, m := range moves {
			print(m, fmt.Sprintf("would move partition %d from %s to %s\n", m.Partition, m.From, m.To))
		}
	}
	if len(moves) == 0 && !c.output.json() {
		fmt.Fprintln(cmd.OutOrStdout(), "nothing to move")
	}
	return failed
}
