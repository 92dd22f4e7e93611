package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/howdah/howdah"
)

func newMaintain() *cobra.Command {
	var (
		database databaseFlags
		cache    string
		once     bool
		length   durationFlag
		lag      int64
		output   outputFormat
	)
	cmd := &cobra.Command{
		Use:   "maintain",
		Short: "Remove expired entries and keep budgets, until stopped",
		Long: `Remove expired entries and sessions, evict where a cache is over its budget, and
notice when a crash has emptied the UNLOGGED caches.

"howdah serve" does this by itself. Run it where nothing else does: beside
programs that use caches or sessions through SQL only. Several may run; one works and
the others stand by.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case once && length > 0:
				return usagef("give --once or --for, not both")
			case cache != "" && !once:
				return usagef("--cache goes with --once")
			}
			if err := checkReplicationLag(lag); err != nil {
				return err
			}
			databaseURL, err := database.find()
			if err != nil {
				return err
			}
			log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			ctx, stop := untilSignal(cmd.Context(), log)
			defer stop()
			db, err := howdah.Open(ctx, databaseURL, &howdah.Options{MaxConns: 3, Logger: log, MaxReplicationLag: lag})
			if err != nil {
				return err
			}
			if once {
				return errors.Join(maintainOnce(ctx, cmd, db, cache, &output), db.Close())
			}
			if length > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, time.Duration(length))
				defer cancel()
			}
			err = db.Run(ctx)
			s := db.Stats().Upkeep
			text := fmt.Sprintf("%d rounds, %d entries expired, %d evicted, %d sessions expired\n", s.Rounds, s.Expired, s.Evicted, s.Sessions)
			return errors.Join(err, output.print(cmd.OutOrStdout(), upkeepJSON{s.Rounds, s.Expired, s.Evicted, s.Sessions}, text), db.Close())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	database.add(cmd, "PostgreSQL that holds the caches")
	f.BoolVar(&once, "once", false, "do one bounded round, print what it did, and stop")
	f.Var(&length, "for", "stop after this time (default: when a signal comes)")
	addReplicationLag(f, &lag)
	f.StringVar(&cache, "cache", "", "with --once: maintain only this cache")
	output.add(cmd)
	mustComplete(cmd, "cache", completeCacheFlag)
	return cmd
}

// addReplicationLag adds the flag for the bytes of WAL by which a standby may be behind.
func addReplicationLag(f *pflag.FlagSet, lag *int64) {
	f.Int64Var(lag, "max-replication-lag", 64<<20, "slow down the removal of expired entries while a standby or replication slot is more bytes behind; -1: never")
}

func checkReplicationLag(lag int64) error {
	if lag == 0 || lag < -1 {
		return usagef("--max-replication-lag must be above zero, or -1 for never")
	}
	return nil
}

// upkeepJSON is what was removed until the command was stopped.
type upkeepJSON struct {
	Rounds   uint64 `json:"rounds"`
	Expired  uint64 `json:"expired"`
	Evicted  uint64 `json:"evicted"`
	Sessions uint64 `json:"sessions"` // expired sessions
}

// roundJSON is what one round did with one cache.
type roundJSON struct {
	Cache    string  `json:"cache"`
	Expired  int64   `json:"expired"`
	Evicted  int64   `json:"evicted"`
	Bytes    int64   `json:"bytes"`
	Blocks   int64   `json:"blocks"`
	Seconds  float64 `json:"seconds"`
	More     bool    `json:"more"`      // there is more to remove
	HeldBack bool    `json:"held_back"` // slowed down for a standby or a replication slot
}

// maintainOnce does one round and prints a line for each cache.
func maintainOnce(ctx context.Context, cmd *cobra.Command, db *howdah.DB, cache string, output *outputFormat) error {
	rounds, err := db.Maintain(ctx, howdah.MaintainOptions{Cache: cache})
	if err != nil {
		return err
	}
	if output.json() {
		for _, r := range rounds {
			if err := writeJSON(cmd.OutOrStdout(), roundJSON{r.Cache, r.Expired, r.Evicted, r.Bytes, r.Blocks, r.Elapsed.Seconds(), r.More, r.HeldBack}); err != nil {
				return err
			}
		}
		return nil
	}
	if len(rounds) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "nothing done: there is no cache, or another session is in a round")
		return nil
	}
	out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "CACHE\tEXPIRED\tEVICTED\tBYTES\tBLOCKS\tTIME\tMORE\tHELD BACK\t")
	for _, r := range rounds {
		fmt.Fprintf(out, "%s\t%d\t%d\t%d\t%d\t%v\t%t\t%t\t\n", r.Cache, r.Expired, r.Evicted, r.Bytes, r.Blocks,
			r.Elapsed.Round(10*time.Microsecond), r.More, r.HeldBack)
	}
	return out.Flush()
}
