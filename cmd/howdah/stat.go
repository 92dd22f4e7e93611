package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah/internal/redisapi"
)

func newStat() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:   "stat",
		Short: "Print a table of the caches: entries, bytes, reads and writes",
		Long: `Print a table of the caches.

With --database-url: entries (exact), bytes on disk, and how many rows were read
and written since PostgreSQL's statistics were last reset.
With --server: entries of db0 to db15, and the hits and misses of that server.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return t.with(cmd.Context(), func(ctx context.Context, a asker) error {
				out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', tabwriter.AlignRight)
				var err error
				if d, ok := a.(*direct); ok {
					err = statDatabase(ctx, out, d)
				} else {
					err = statServer(ctx, out, a)
				}
				return errors.Join(err, out.Flush())
			})
		},
	}
	t.flags(cmd)
	return cmd
}

func statDatabase(ctx context.Context, out io.Writer, d *direct) error {
	rows, err := d.db.Pool().Query(ctx, `
		SELECT c.name, c.durability, howdah.count(c.name),
		       c.table_bytes + c.index_bytes + c.toast_bytes,
		       coalesce(s.idx_tup_fetch, 0), coalesce(s.n_tup_ins + s.n_tup_upd, 0), coalesce(s.n_tup_del, 0)
		FROM howdah.caches() AS c
		LEFT JOIN pg_stat_all_tables AS s ON s.schemaname = 'howdah' AND s.relname = 'cache_' || c.name
		ORDER BY c.name`)
	if err != nil {
		return err
	}
	defer rows.Close()
	fmt.Fprintln(out, "CACHE\tDURABILITY\tENTRIES\tBYTES\tREAD\tWRITTEN\tDELETED\t")
	for rows.Next() {
		var name, durability string
		var entries, bytes, read, written, deleted int64
		if err := rows.Scan(&name, &durability, &entries, &bytes, &read, &written, &deleted); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t\n", name, durability, entries, bytes, read, written, deleted)
	}
	return rows.Err()
}

func statServer(ctx context.Context, out io.Writer, a asker) error {
	reply, err := a.ask(ctx, "INFO", "everything")
	if err != nil {
		return err
	}
	info := make(map[string]string)
	for line := range strings.Lines(string(reply.Str)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	fmt.Fprintln(out, "CACHE\tENTRIES\tWITH TTL\t")
	for n := range redisapi.Databases {
		name := fmt.Sprintf("db%d", n)
		if text, ok := info[name]; ok {
			fields := keyspaceFields(text)
			fmt.Fprintf(out, "%s\t%s\t%s\t\n", name, fields["keys"], fields["expires"])
		}
	}
	fmt.Fprintln(out)
	fmt.Fprintln(out, "SERVER\tCLIENTS\tCOMMANDS\tHITS\tMISSES\t")
	fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t\n", "total", info["connected_clients"],
		info["total_commands_processed"], info["keyspace_hits"], info["keyspace_misses"])
	return nil
}

// keyspaceFields takes "keys=3,expires=1,avg_ttl=0" apart.
func keyspaceFields(text string) map[string]string {
	fields := make(map[string]string)
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		fields[name] = value
	}
	return fields
}
