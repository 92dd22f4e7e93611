package main

import (
	"context"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/howdah/howdah/internal/stat"
	"github.com/howdah/howdah/migrate"
)

// bigkeys is what the flags of "howdah bigkeys" ask for.
type bigkeys struct {
	database databaseFlags
	server   string // never: see check
	cache    string
	by       string
	prefix   string
	sample   int
	limit    int
	output   outputFormat
}

// byPrefix is the order of "howdah bigkeys" that shows no keys.
const byPrefix = "prefix"

func newBigkeys() *cobra.Command {
	var b bigkeys
	cmd := &cobra.Command{
		Use:   "bigkeys",
		Short: "Show what fills a cache: prefixes, large keys, keys without a TTL",
		Long: `Show what fills the caches, or one of them: entries and bytes, what no TTL removes, what
the table takes on disk, and

  --by prefix   the prefixes of the keys, up to the next ':' or '/' (the default)
  --by size     the largest entries
  --by ttl      the entries that live longest, those without a TTL first
  --by idle     the entries that were not used for the longest time

It reads no more than --sample entries of each cache, in blocks of its table that PostgreSQL
chooses at random, and no values: it can run beside a busy application. A cache with
fewer entries is read as a whole; otherwise numbers are estimates, and the entries
that are shown are those of the sample.

A runtime role may use it. Bytes count as in budgets: key, value and 100.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := b.check(); err != nil {
				return err
			}
			return b.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	b.database.add(cmd, "PostgreSQL to look at")
	f.StringVar(&b.server, "server", "", "")
	f.Lookup("server").Hidden = true
	f.StringVar(&b.cache, "cache", "", "look at this cache only")
	f.StringVar(&b.by, "by", byPrefix, "prefix, size, ttl or idle")
	f.StringVar(&b.prefix, "prefix", "", "with --by prefix: one level down, below this prefix")
	f.IntVar(&b.sample, "sample", stat.MaxSampled, "most entries to read of each cache")
	f.IntVar(&b.limit, "limit", 20, "most prefixes or keys to show of each cache")
	b.output.add(cmd)
	mustComplete(cmd, "by", cobra.FixedCompletions([]string{byPrefix, string(stat.BySize), string(stat.ByTTL), string(stat.ByIdle)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (b *bigkeys) check() error {
	if b.server != "" {
		return usagef(`bigkeys reads tables, and a server has none: give --database-url, or --data-dir of the "howdah serve" whose database it is`)
	}
	switch b.by {
	case byPrefix, string(stat.BySize), string(stat.ByTTL), string(stat.ByIdle):
	default:
		return usagef("--by must be prefix, size, ttl or idle")
	}
	switch {
	case b.prefix != "" && b.by != byPrefix:
		return usagef("--prefix belongs to --by prefix")
	case b.sample < 1 || b.sample > stat.MaxSampled:
		return usagef("--sample must be from 1 to %d", stat.MaxSampled)
	case b.limit < 1 || b.limit > stat.MaxSampled:
		return usagef("--limit must be from 1 to %d", stat.MaxSampled)
	}
	return nil
}

func (b *bigkeys) run(ctx context.Context, out io.Writer) error {
	databaseURL, err := b.database.find()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	conn, err := connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := migrate.Check(ctx, conn); err != nil {
		return err
	}
	var others beside
	defer others.close()
	servers, err := others.servers(ctx, conn)
	if err != nil {
		return err
	}
	snapshot, err := stat.Read(ctx, conn, servers...)
	if err != nil {
		return err
	}
	found := false
	for _, row := range stat.Compare(nil, snapshot, nil).Tables {
		if row.Sessions || b.cache != "" && row.Name != b.cache {
			continue
		}
		found = true
		if err := b.show(ctx, conn, servers, &row, out); err != nil {
			return err
		}
	}
	if !found && b.cache != "" {
		return fmt.Errorf("there is no cache %q in this database: \"howdah stat\" lists the caches", b.cache)
	}
	return nil
}

// show prints what fills one cache.
func (b *bigkeys) show(ctx context.Context, conn *pgx.Conn, servers []stat.Server, row *stat.Row, out io.Writer) error {
	sample, err := stat.SampleCache(ctx, conn, row.Name, b.sample, servers...)
	if err != nil {
		return fmt.Errorf("cache %q cannot be looked at: %w", row.Name, err)
	}
	var shown *stat.BigKeys
	if b.by == byPrefix {
		shown = stat.BigPrefixes(row, sample, []byte(b.prefix), b.limit)
	} else {
		shown = stat.BigEntries(row, sample, stat.Order(b.by), b.limit)
	}
	return b.output.print(out, shown, shown.Text(0)+"\n")
}
