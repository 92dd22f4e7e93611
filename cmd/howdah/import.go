package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/transfer"
)

// importCommand is one run of "howdah import".
type importCommand struct {
	database databaseFlags
	source   sourceFlags
	output   outputFormat
	options  transfer.Options

	databases              string
	maxValue               sizeFlag
	dryRun                 bool
	verify, repair, delete bool
	tolerance              durationFlag
	ttlFromNow, dropTags   bool
	stateFile, refusedFile string
	isServer               bool
}

func newImport() *cobra.Command {
	i := &importCommand{maxValue: sizeFlag(howdah.DefaultMaxValueBytes), tolerance: durationFlag(2 * time.Second)}
	cmd := &cobra.Command{
		Use:   "import SOURCE",
		Short: "Copy a running Redis server, or the lines of an export, into caches",
		Long: `Copy a running Redis or Valkey server into caches, or the lines of an export.

  howdah import redis://old:6379 --dry-run                     what there is, and what cannot be copied
  howdah import redis://old:6379 --db all                      database n goes into the cache dbn
  howdah import redis://old:6379 --verify --repair --delete    the second pass, when nothing writes there any more
  howdah import pages.jsonl --into pages

SOURCE is redis://[user:password@]host:port[/database], rediss:// for TLS, a file, or - for
standard input.

A copy that was interrupted, even by kill -9, goes on when the same command is given again: its
state file says how far it was. Keys that clients write while it runs have an old value or are
missing afterwards; --verify finds them, key by key, and --repair copies them. Keys that were
deleted in the source stay in the cache unless --delete is given too.

Exits 0 if everything is in the caches, 1 if something failed, was refused or is different, and
2 if the command line is wrong.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return i.run(cmd, args[0]) },
	}
	cmd.Flags().SortFlags = false
	i.database.add(cmd, "PostgreSQL that holds the caches")
	i.addWhat(cmd)
	i.addHow(cmd)
	i.source.add(cmd)
	i.output.add(cmd)
	return cmd
}

// addWhat adds the flags that say what is copied where.
func (i *importCommand) addWhat(cmd *cobra.Command) {
	f, o := cmd.Flags(), &i.options
	f.StringVar(&i.databases, "db", "", `databases to copy: a number, several with commas, or "all" (default: the one that the URL names, else 0)`)
	f.StringVar(&o.Into, "into", "", "cache to copy one database or all lines into (default: db0 for database 0 and so on; of lines, the cache that each names)")
	f.StringVar(&o.Match, "match", "", "only keys that match this pattern: * ? [a-z]")
	f.StringVar(&o.Type, "type", "", "only keys of this type: string, hash, list, set or zset")
	f.BoolVar(&o.Replace, "replace", false, "replace keys that the cache has already (default: they are kept)")
	f.Var(&i.maxValue, "max-value-bytes", "refuse longer strings; to read longer ones, howdah serve needs as large a --max-request-bytes")
	f.BoolVar(&o.OneNode, "one-node", false, "copy the keys of this one node of a Redis cluster")
	f.BoolVar(&i.ttlFromNow, "ttl-from-now", false, "of lines: let the time that was left count from now (default: an entry expires when it would have)")
	f.BoolVar(&i.dropTags, "drop-tags", false, "of lines: store entries that had tags without them (default: they are refused)")
	mustComplete(cmd, "into", completeCacheFlag)
}

// addHow adds the flags that say how it is copied.
func (i *importCommand) addHow(cmd *cobra.Command) {
	f, o := cmd.Flags(), &i.options
	f.BoolVar(&i.dryRun, "dry-run", false, "count types and sizes and what would be refused, and change nothing")
	f.IntVar(&o.Rate, "rate", 0, "keys a second, at most (default: as fast as both sides are)")
	f.IntVar(&o.PageKeys, "page", 1000, "about how many keys are read and committed together")
	f.StringVar(&i.stateFile, "state", "", "file that says how far the copy is (default: howdah-import-HOST-PORT-DATABASES.state in this folder)")
	f.BoolVar(&o.Restart, "restart", false, "begin again, whatever the state file says")
	f.StringVar(&i.refusedFile, "refused", "", "file that gets a line of JSON for each key that was refused, or that --verify found different and does not repair (default: the state file's name with .refused)")
	f.BoolVar(&i.verify, "verify", false, "copy nothing: compare each key's type, value and TTL with the cache")
	f.BoolVar(&i.repair, "repair", false, "with --verify: copy what is missing or different")
	f.BoolVar(&i.delete, "delete", false, "with --repair: delete keys from the cache that the source has not")
	f.Var(&i.tolerance, "ttl-tolerance", "with --verify: by how much TTLs may differ")
}

func (i *importCommand) run(cmd *cobra.Command, source string) (err error) {
	if i.isServer = transfer.IsAddress(source); i.isServer {
		if i.options.Source, err = i.source.address(source); err != nil {
			return err
		}
	}
	if err := i.check(); err != nil {
		return err
	}
	i.name(source)
	ctx, stop := untilStopped(cmd)
	defer stop()
	db, err := openForTransfer(ctx, &i.database, int(i.maxValue))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	i.options.MaxValueBytes, i.options.StateFile, i.options.RefusedFile = int(i.maxValue), i.stateFile, i.refusedFile
	t := &transferReport{cmd: cmd, line: newProgressLine(cmd.ErrOrStderr()), json: i.output.json(), refused: i.refusedFile, dry: i.dryRun, began: time.Now()}
	i.options.Say, i.options.Progress = t.say, t.progress
	switch {
	case !i.isServer:
		err = i.lines(ctx, cmd, (*core.DB)(db), source, t)
	case i.dryRun:
		err = i.survey(ctx, (*core.DB)(db), t)
	case i.verify:
		err = i.compare(ctx, (*core.DB)(db), t)
	default:
		err = i.copy(ctx, (*core.DB)(db), t)
	}
	if errors.Is(err, transfer.ErrUse) {
		return usageError{err}
	}
	return err
}

// check finds flags that do not go together.
func (i *importCommand) check() error {
	o := &i.options
	switch {
	case o.Rate < 0 || o.PageKeys < 1 || o.PageKeys > 100_000:
		return usagef("--rate must not be negative, and --page must be from 1 to 100000")
	case o.Type != "" && !strings.Contains(" string hash list set zset ", " "+o.Type+" "):
		return usagef("--type must be string, hash, list, set or zset")
	case (i.repair || i.delete) && !i.verify || i.delete && !i.repair:
		return usagef("--repair goes with --verify, and --delete with both")
	case i.verify && i.dryRun:
		return usagef("give --verify or --dry-run, not both: without --repair nothing is changed")
	case !i.isServer && (i.verify || i.databases != "" || i.stateFile != "" || o.Restart || o.OneNode):
		return usagef("--verify, --db, --state, --restart and --one-node go with a Redis server as the source; to import a file once more is safe")
	case i.isServer && (i.ttlFromNow || i.dropTags):
		return usagef("--ttl-from-now and --drop-tags go with a file as the source")
	}
	return i.numbers()
}

// numbers reads --db.
func (i *importCommand) numbers() error {
	o := &i.options
	switch {
	case i.databases == "all":
		return nil
	case i.databases == "":
		o.Databases = []int{o.Source.Database}
		return nil
	case o.Source.Named:
		return usagef("the URL names a database, and so does --db: give one of them")
	}
	for text := range strings.SplitSeq(i.databases, ",") {
		number, err := strconv.Atoi(text)
		if err != nil || number < 0 {
			return usagef("--db must be a number, several with commas, or all")
		}
		o.Databases = append(o.Databases, number)
	}
	return nil
}

// name gives the files their names.
func (i *importCommand) name(source string) {
	base := "howdah-import-lines"
	if i.isServer {
		databases := i.databases
		if databases == "" {
			databases = strconv.Itoa(i.options.Source.Database)
		}
		plain := strings.NewReplacer(":", "-", ",", "-", "[", "", "]", "", "/", "-")
		base = "howdah-import-" + plain.Replace(i.options.Source.Host+"-db"+databases)
	} else if source != "-" {
		base = source
	}
	if i.stateFile == "" {
		i.stateFile = base + ".state"
	}
	if i.refusedFile == "" {
		i.refusedFile = strings.TrimSuffix(i.stateFile, ".state") + ".refused"
	}
}

func (i *importCommand) copy(ctx context.Context, db *core.DB, t *transferReport) error {
	counts, err := transfer.Import(ctx, db, i.options)
	t.line.clear()
	again := "give the same command again to go on"
	if i.options.Restart {
		again = "give the same command without --restart to go on"
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("stopped after %d keys: %s (%s)", counts.Keys, again, i.stateFile)
	case errors.Is(err, fault.ErrCacheNotFound), errors.Is(err, transfer.ErrUse):
		return err
	case err != nil && !i.begun(counts):
		return err
	case err != nil:
		return fmt.Errorf("stopped after %d keys: %w; %s (%s)", counts.Keys, err, again, i.stateFile)
	}
	return t.copied(counts)
}

// begun says whether there is something to go on from.
func (i *importCommand) begun(counts transfer.Counts) bool {
	_, err := os.Stat(i.stateFile)
	return counts.Keys > 0 || err == nil
}

func (i *importCommand) survey(ctx context.Context, db *core.DB, t *transferReport) error {
	survey, err := transfer.DryRun(ctx, db, i.options)
	t.line.clear()
	if err != nil {
		return err
	}
	return t.surveyed(survey)
}

func (i *importCommand) compare(ctx context.Context, db *core.DB, t *transferReport) error {
	found, err := transfer.Verify(ctx, db, transfer.VerifyOptions{Options: i.options, Repair: i.repair, Delete: i.delete, Tolerance: time.Duration(i.tolerance)})
	t.line.clear()
	if err != nil {
		return err
	}
	return t.compared(found, i.repair)
}

// lines imports a file or standard input.
func (i *importCommand) lines(ctx context.Context, cmd *cobra.Command, db *core.DB, name string, t *transferReport) error {
	in := cmd.InOrStdin()
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return usageError{err}
		}
		defer file.Close()
		in = file
	}
	o := &i.options
	result, err := transfer.ImportLines(ctx, db, in, transfer.LinesOptions{
		Into: o.Into, Match: o.Match, Type: o.Type, Replace: o.Replace, FromNow: i.ttlFromNow, DropTags: i.dropTags, DryRun: i.dryRun,
		MaxValueBytes: int(i.maxValue), RefusedFile: i.refusedFile, Progress: func(c transfer.Counts) {
			t.progress(transfer.Progress{Counts: c, Seen: c.Keys, Elapsed: time.Since(t.began)})
		},
	})
	t.line.clear()
	if err != nil {
		return fmt.Errorf("stopped after %d lines: %w; to import the file once more is safe", result.Keys, err)
	}
	if !result.Complete {
		t.say("the file has no last line {\"end\":true}: the export was interrupted, or the file was filtered")
	}
	return t.copied(result.Counts)
}
