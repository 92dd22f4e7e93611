package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/stat"
)

// cachesCommand is one run of a subcommand of "howdah caches".
type cachesCommand struct {
	database databaseFlags
	output   outputFormat
	confirm  confirmation
}

func newCaches() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "caches",
		Short: "List, make, change, empty and drop caches",
		Long: `List, make, change, empty and drop the caches of a database.

  howdah caches create pages --default-ttl 10m --max-bytes 1GiB
  howdah caches alter pages --max-bytes 2GiB --reset default-ttl
  howdah caches flush pages

Making, changing and dropping a cache needs the owner of the schema.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q: run \"howdah caches --help\" for the commands", args[0])
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(newCachesList(), newCachesShow(), newCachesCreate(), newCachesAlter(), newCachesFlush(), newCachesDrop())
	for _, sub := range cmd.Commands() {
		sub.Args = asUsage(sub.Args)
	}
	return cmd
}

// add adds the flags that every subcommand has, and completion of the cache's
// name.
func (c *cachesCommand) add(cmd *cobra.Command) {
	c.database.add(cmd, "PostgreSQL that holds the caches")
	c.output.add(cmd)
	if strings.Contains(cmd.Use, "NAME") {
		cmd.ValidArgsFunction = completeCaches
	}
}

func newCachesList() *cobra.Command {
	var c cachesCommand
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Print the caches with their entries, sizes and budgets",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.with(cmd, func(ctx context.Context, db *howdah.DB, url string) error {
				caches, err := describe(ctx, db, url)
				if err != nil {
					return err
				}
				if c.output.json() {
					for _, cache := range caches {
						if err := writeJSON(cmd.OutOrStdout(), cache); err != nil {
							return err
						}
					}
					return nil
				}
				out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
				fmt.Fprintln(out, "CACHE\tDURABILITY\tENTRIES\tBYTES\tON DISK\tMAX BYTES\tMAX ENTRIES\tDEFAULT TTL")
				for _, i := range caches {
					fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\n", i.Name, i.Durability, i.count(), known(i.Bytes), i.DiskBytes,
						orNoneText(i.MaxBytes), orNoneText(i.MaxEntries), i.DefaultTTL)
				}
				return out.Flush()
			})
		},
	}
	c.add(cmd)
	return cmd
}

func newCachesShow() *cobra.Command {
	var c cachesCommand
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Print all settings of a cache, its entries and its size",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(ctx context.Context, db *howdah.DB, url string) error {
				cache, err := describeOne(ctx, db, url, args[0])
				if err != nil {
					return err
				}
				return c.output.print(cmd.OutOrStdout(), cache, cache.text())
			})
		},
	}
	c.add(cmd)
	return cmd
}

func newCachesFlush() *cobra.Command {
	var c cachesCommand
	cmd := &cobra.Command{
		Use:   "flush NAME",
		Short: "Remove all entries of a cache, after asking",
		Long: `Remove all entries of a cache, after asking for its name. Settings stay. Readers
and writers wait for a moment, not for as long as the deletion of rows would take.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.remove(cmd, args[0], "This removes %s of %s", "removed %s", func(ctx context.Context, db *howdah.DB) error {
				return db.Cache(args[0]).Flush(ctx)
			})
		},
	}
	c.add(cmd)
	c.confirm.add(cmd, "do not ask")
	return cmd
}

func newCachesDrop() *cobra.Command {
	var c cachesCommand
	cmd := &cobra.Command{
		Use:   "drop NAME",
		Short: "Remove a cache with all its entries and settings, after asking",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.remove(cmd, args[0], "This removes %s of %s, and drops the cache", "dropped the cache with %s", func(ctx context.Context, db *howdah.DB) error {
				return owned(db.DropCache(ctx, args[0]))
			})
		},
	}
	c.add(cmd)
	c.confirm.add(cmd, "do not ask")
	return cmd
}

// removedEntries is what flush and drop print.
type removedEntries struct {
	Cache   string `json:"cache"`
	Entries int64  `json:"entries"`
	Exact   bool   `json:"exact"` // entries were counted, not estimated
}

// remove says how many entries a cache has, asks for its name, and runs fn. will and did are formats:
// the first for the entries and the name, the second for the entries.
func (c *cachesCommand) remove(cmd *cobra.Command, name, will, did string, fn func(context.Context, *howdah.DB) error) error {
	return c.with(cmd, func(ctx context.Context, db *howdah.DB, url string) error {
		cache, err := describeOne(ctx, db, url, name)
		if err != nil {
			return err
		}
		if !c.confirm.yes {
			fmt.Fprintf(cmd.ErrOrStderr(), will+". This cannot be undone.\n", cache.entriesText(), name)
		}
		if err := c.confirm.ask(cmd, "the name of the cache", name, "nothing was changed"); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), commandTimeout) // the answer took time
		defer cancel()
		if err := fn(ctx, db); err != nil {
			return err
		}
		return c.output.print(cmd.OutOrStdout(), removedEntries{name, cache.Entries, cache.Exact},
			fmt.Sprintf(did+"\n", cache.entriesText()))
	})
}

// with opens the database and runs fn.
func (c *cachesCommand) with(cmd *cobra.Command, fn func(ctx context.Context, db *howdah.DB, url string) error) error {
	url, err := c.database.find()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), commandTimeout)
	defer cancel()
	db, err := howdah.Open(ctx, url, &howdah.Options{MaxConns: 2, Timeout: commandTimeout})
	if err != nil {
		return err
	}
	defer db.Close()
	return fn(ctx, db, url)
}

// describe returns the caches with their figures.
func describe(ctx context.Context, db *howdah.DB, url string) ([]cacheJSON, error) {
	configs, err := db.Caches(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var others beside
	defer others.close()
	servers, err := others.servers(ctx, conn)
	if err != nil {
		return nil, err
	}
	now, err := stat.Read(ctx, conn, servers...)
	if err != nil {
		return nil, err
	}
	rows := make(map[string]stat.Row)
	for _, row := range stat.Compare(nil, now, nil).Tables {
		if !row.Sessions {
			rows[row.Name] = row
		}
	}
	caches := make([]cacheJSON, len(configs))
	for i, config := range configs {
		caches[i] = describeCache(config, rows[config.Name])
	}
	return caches, nil
}

// describeOne returns one cache with its figures.
func describeOne(ctx context.Context, db *howdah.DB, url, name string) (cacheJSON, error) {
	caches, err := describe(ctx, db, url)
	if err != nil {
		return cacheJSON{}, err
	}
	var names []string
	for _, cache := range caches {
		if cache.Name == name {
			return cache, nil
		}
		names = append(names, cache.Name)
	}
	return cacheJSON{}, fmt.Errorf("there is no cache %q; there are %s", name, strings.Join(names, ", "))
}

// owned says who may do what the role may not. What PostgreSQL said is left out: to grant the role
// what applications need, as other calls without a privilege advise, would not help.
func owned(err error) error {
	if errors.Is(err, howdah.ErrPermission) {
		return fmt.Errorf("%w: only the owner makes, changes and drops caches: connect as the owner of the schema", howdah.ErrPermission)
	}
	return err
}
