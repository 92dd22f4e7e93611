package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/transfer"
)

// exportCommand is one run of "howdah export".
type exportCommand struct {
	database            databaseFlags
	cache, prefix, file string
	format              string
}

func newExport() *cobra.Command {
	var e exportCommand
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the entries of a cache as lines of JSON, or as commands for a Redis",
		Long: `Write the live entries of a cache as lines of JSON, which "howdah import" reads, or as the
commands that store them in a Redis server.

  howdah export --cache pages --file pages.jsonl
  howdah export --format resp | redis-cli -h new --pipe
  howdah export --prefix user: | jq -r 'select(.type == "string") | [.key, .value] | @tsv'

A line has cache, key, type and value, ttl_ms and expires_at if the entry expires. Keys and
strings that are not UTF-8 are in key_base64 and value_base64; collections are in dump_base64,
as the payload that RESTORE of Redis takes. The last line is {"end":true,...}: without it the
export was interrupted, and what is there can be used.

With --format resp it writes SET and RESTORE, with the time at which each entry expires, for
mass insertion into Redis from 7.0 on: docs/back-to-redis.md.

An entry that is there from the beginning to the end is written once, as it was at a moment
between. What is stored or removed meanwhile may be missing: it is no snapshot, and holds
nothing back in PostgreSQL.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return e.run(cmd) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	e.database.add(cmd, "PostgreSQL that holds the cache")
	f.StringVar(&e.cache, "cache", defaultCache, "cache to write (HOWDAH_CACHE)")
	f.StringVar(&e.prefix, "prefix", "", "only keys that begin with this")
	f.StringVar(&e.file, "file", "-", `file to write; "-": standard output`)
	f.StringVar(&e.format, "format", string(transfer.Lines), "jsonl: lines of JSON; resp: commands for redis-cli --pipe")
	mustComplete(cmd, "format", cobra.FixedCompletions([]string{string(transfer.Lines), string(transfer.Commands)}, cobra.ShellCompDirectiveNoFileComp))
	mustComplete(cmd, "cache", completeCacheFlag)
	return cmd
}

func (e *exportCommand) run(cmd *cobra.Command) (err error) {
	if form := transfer.Form(e.format); form != transfer.Lines && form != transfer.Commands {
		return usagef("--format must be jsonl or resp")
	}
	ctx, stop := untilStopped(cmd)
	defer stop()
	db, err := openForTransfer(ctx, &e.database, howdah.DefaultMaxValueBytes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if e.file == "-" {
		return e.write(ctx, cmd, db, cmd.OutOrStdout())
	}
	file, err := os.OpenFile(e.file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return writeAndClose(file, func(out io.Writer) error { return e.write(ctx, cmd, db, out) })
}

// exportFile is an *os.File.
type exportFile interface {
	io.WriteCloser
	Sync() error
}

// writeAndClose returns nil only if all that was written is in the file: some file systems say
// that they are full at its end only.
func writeAndClose(file exportFile, write func(io.Writer) error) error {
	err := write(file)
	synced := file.Sync()
	if errors.Is(synced, syscall.EINVAL) || errors.Is(synced, errors.ErrUnsupported) {
		synced = nil // a pipe or a device
	}
	return errors.Join(err, synced, file.Close())
}

func (e *exportCommand) write(ctx context.Context, cmd *cobra.Command, db *howdah.DB, out io.Writer) error {
	lines := bufio.NewWriterSize(out, 256<<10)
	began, shown := time.Now(), time.Now()
	screen := newProgressLine(cmd.ErrOrStderr())
	options := transfer.ExportOptions{Cache: e.cache, Prefix: []byte(e.prefix), Form: transfer.Form(e.format)}
	options.Progress = func(done transfer.Exported) {
		if time.Since(shown) > progressEvery && e.file != "-" {
			shown = time.Now()
			screen.show(fmt.Sprintf("%d entries, %.0f a second", done.Entries, float64(done.Entries)/time.Since(began).Seconds()))
		}
	}
	done, err := transfer.Export(ctx, (*core.DB)(db), options, lines)
	screen.clear()
	if flushErr := lines.Flush(); err == nil {
		err = flushErr
	}
	switch {
	case errors.Is(err, fault.ErrCacheNotFound):
		return err
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("stopped after %d entries, which can be imported", done.Entries)
	case err != nil:
		return fmt.Errorf("stopped after %d entries, which can be imported: %w", done.Entries, err)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%d entries in %v\n", done.Entries, time.Since(began).Round(10*time.Millisecond))
	if done.Tagged > 0 {
		what := "an import refuses them without --drop-tags"
		if e.format == string(transfer.Commands) {
			what = "Redis has none"
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%d of them have tags, whose names Howdah does not store: %s\n", done.Tagged, what)
	}
	return nil
}
