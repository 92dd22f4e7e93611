package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/stat"
)

// cacheSettings are the flags of the settings that create and alter know.
type cacheSettings struct {
	durability, eviction  string
	defaultTTL, maxTTL    durationFlag
	maxBytes              sizeFlag
	maxEntries            int64
	ttlJitter, fillfactor int
	prefixIndex, near     bool
	logKeys               bool
}

// names are the flags of the settings.
func (*cacheSettings) names() []string {
	return []string{"durability", "default-ttl", "max-ttl", "ttl-jitter", "max-bytes", "max-entries", "eviction", "fillfactor", "prefix-index", "near", "log-keys"}
}

func (s *cacheSettings) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.durability, "durability", "", "what survives a crash: unlogged, async or sync (default unlogged)")
	f.Var(&s.defaultTTL, "default-ttl", "TTL of entries that are stored without one (default: none)")
	f.Var(&s.maxTTL, "max-ttl", "longest TTL that an entry may have (default: no bound)")
	f.IntVar(&s.ttlJitter, "ttl-jitter", 0, "per cent by which TTLs are shortened at random, at most; up to 90")
	f.Var(&s.maxBytes, "max-bytes", "budget of bytes, such as 1GiB (default: none)")
	f.Int64Var(&s.maxEntries, "max-entries", 0, "budget of entries (default: none)")
	f.StringVar(&s.eviction, "eviction", "", "what is removed beyond the budget, as Redis names it (default allkeys-lru)")
	f.IntVar(&s.fillfactor, "fillfactor", 0, "per cent of a page that inserts fill, 10 to 100 (default 85)")
	f.BoolVar(&s.prefixIndex, "prefix-index", false, "make a second index, for caches that often delete by prefix")
	f.BoolVar(&s.near, "near", false, "keep a change log, so that programs may hold entries in memory")
	f.BoolVar(&s.logKeys, "log-keys", false, "write keys into the change log too, for CLIENT TRACKING ON BCAST; needs --near")
	f.SortFlags = false
	mustComplete(cmd, "durability", cobra.FixedCompletions([]string{"unlogged", "async", "sync"}, cobra.ShellCompDirectiveNoFileComp))
	mustComplete(cmd, "eviction", cobra.FixedCompletions([]string{
		"allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl", "noeviction",
	}, cobra.ShellCompDirectiveNoFileComp))
}

func (s *cacheSettings) config(name string) howdah.CacheConfig {
	return howdah.CacheConfig{
		Name: name, Durability: howdah.Durability(s.durability), Eviction: howdah.Eviction(s.eviction),
		DefaultTTL: time.Duration(s.defaultTTL), MaxTTL: time.Duration(s.maxTTL), TTLJitter: s.ttlJitter,
		MaxBytes: int64(s.maxBytes), MaxEntries: s.maxEntries, Fillfactor: s.fillfactor,
		PrefixIndex: s.prefixIndex, Near: s.near, LogKeys: s.logKeys,
	}
}

// only returns the settings to change, as howdah.alter_cache names them: those
// whose flags were given, and those to reset.
func (s *cacheSettings) only(f *pflag.FlagSet, reset []string) ([]string, error) {
	var only []string
	for _, name := range s.names() {
		if f.Changed(name) {
			only = append(only, name)
		}
	}
	for _, name := range reset {
		switch name = strings.ReplaceAll(name, "_", "-"); {
		case !slices.Contains(s.names(), name):
			return nil, usagef("--reset %.50q is not a setting: give one of %s", name, strings.Join(s.names(), ", "))
		case f.Changed(name):
			return nil, usagef("give --%s or --reset %s, not both", name, name)
		}
		only = append(only, name)
	}
	for i, name := range only {
		only[i] = strings.ReplaceAll(name, "-", "_")
	}
	return only, nil
}

func newCachesCreate() *cobra.Command {
	var (
		c cachesCommand
		s cacheSettings
	)
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a cache",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.with(cmd, func(ctx context.Context, db *howdah.DB, url string) error {
				err := owned(db.CreateCache(ctx, s.config(args[0])))
				if errors.Is(err, howdah.ErrCacheExists) {
					return fmt.Errorf("there is a cache %q already: give another name, or change it with \"howdah caches alter %s\"", args[0], args[0])
				}
				if err != nil {
					return err
				}
				return c.settled(ctx, cmd, db, url, args[0], "created")
			})
		},
	}
	s.add(cmd)
	c.add(cmd)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

func newCachesAlter() *cobra.Command {
	var (
		c     cachesCommand
		s     cacheSettings
		reset []string
		empty bool
	)
	cmd := &cobra.Command{
		Use:   "alter NAME",
		Short: "Change settings of a cache; what is not named stays",
		Long: `Change settings of a cache; what is not named stays. Servers follow within seconds.

A change of --durability from or to unlogged rewrites the table, and locks it for
about a second for each hundred megabytes, unless --empty removes the entries.
The wait for that lock ends after two seconds; then nothing was changed.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			only, err := s.only(cmd.Flags(), reset)
			switch {
			case err != nil:
				return err
			case len(only) == 0:
				return usagef("nothing to change: name a setting, as in --max-bytes 1GiB, or --reset one")
			case c.confirm.yes && !empty:
				return usagef("--yes belongs to --empty")
			}
			alter := func(ctx context.Context, db *howdah.DB) error {
				return owned(db.AlterCache(ctx, s.config(args[0]), howdah.AlterOptions{Only: only, Empty: empty}))
			}
			if empty {
				return c.remove(cmd, args[0], "This removes %s of %s, and changes the cache", "changed the cache and removed %s", alter)
			}
			return c.with(cmd, func(ctx context.Context, db *howdah.DB, url string) error {
				if err := alter(ctx, db); err != nil {
					return err
				}
				return c.settled(ctx, cmd, db, url, args[0], "changed")
			})
		},
	}
	s.add(cmd)
	cmd.Flags().StringSliceVar(&reset, "reset", nil, "settings, separated by commas, to put back to their defaults")
	cmd.Flags().BoolVar(&empty, "empty", false, "also remove all entries, after asking: a change of --durability then needs no rewrite")
	c.add(cmd)
	c.confirm.add(cmd, "with --empty: do not ask")
	mustComplete(cmd, "reset", cobra.FixedCompletions(s.names(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// settled prints the settings that a cache has now.
func (c *cachesCommand) settled(ctx context.Context, cmd *cobra.Command, db *howdah.DB, url, name, did string) error {
	cache, err := describeOne(ctx, db, url, name)
	if err != nil {
		return err
	}
	return c.output.print(cmd.OutOrStdout(), cache, did+" cache "+name+"\n")
}

// cacheJSON are the settings of a cache, with the names that the HTTP interface
// gives them, and what the cache holds.
type cacheJSON struct {
	Name        string `json:"name"`
	Durability  string `json:"durability"`
	DefaultTTL  string `json:"default_ttl"` // "none", or as Go writes durations
	MaxTTL      string `json:"max_ttl"`
	TTLJitter   int    `json:"ttl_jitter"` // per cent
	MaxBytes    int64  `json:"max_bytes"`  // 0: no budget
	MaxEntries  int64  `json:"max_entries"`
	Eviction    string `json:"eviction"`
	Fillfactor  int    `json:"fillfactor"`
	PrefixIndex bool   `json:"prefix_index"`
	Near        bool   `json:"near"`
	LogKeys     bool   `json:"log_keys"`

	Entries   int64  `json:"entries"`
	Exact     bool   `json:"exact"` // entries were counted, not estimated
	Bytes     *int64 `json:"bytes"` // of the entries, as budgets count; null: not known
	DiskBytes int64  `json:"disk_bytes"`
}

func describeCache(c howdah.CacheConfig, row stat.Row) cacheJSON {
	return cacheJSON{
		Name: c.Name, Durability: string(c.Durability), DefaultTTL: ttlSetting(c.DefaultTTL), MaxTTL: ttlSetting(c.MaxTTL),
		TTLJitter: c.TTLJitter, MaxBytes: c.MaxBytes, MaxEntries: c.MaxEntries, Eviction: string(c.Eviction),
		Fillfactor: c.Fillfactor, PrefixIndex: c.PrefixIndex, Near: c.Near, LogKeys: c.LogKeys,
		Entries: row.Entries, Exact: row.Exact, Bytes: row.Bytes, DiskBytes: row.Size(),
	}
}

func ttlSetting(ttl time.Duration) string {
	if ttl == 0 {
		return "none"
	}
	return ttl.String()
}

// count is the number of entries, with a mark if it is an estimate.
func (c *cacheJSON) count() string {
	if c.Exact {
		return strconv.FormatInt(c.Entries, 10)
	}
	return "about " + strconv.FormatInt(c.Entries, 10)
}

// entriesText is count as a phrase.
func (c *cacheJSON) entriesText() string {
	if c.Exact && c.Entries == 1 {
		return "1 entry"
	}
	return c.count() + " entries"
}

// text is a line for each setting and figure.
func (c *cacheJSON) text() string {
	var b strings.Builder
	for _, line := range [][2]any{
		{"name", c.Name}, {"durability", c.Durability}, {"default-ttl", c.DefaultTTL}, {"max-ttl", c.MaxTTL},
		{"ttl-jitter", c.TTLJitter}, {"max-bytes", orNoneText(c.MaxBytes)}, {"max-entries", orNoneText(c.MaxEntries)},
		{"eviction", c.Eviction}, {"fillfactor", c.Fillfactor}, {"prefix-index", c.PrefixIndex}, {"near", c.Near},
		{"log-keys", c.LogKeys}, {"entries", c.count()}, {"bytes", known(c.Bytes)}, {"on disk", c.DiskBytes},
	} {
		fmt.Fprintf(&b, "%-13s %v\n", line[0], line[1])
	}
	return b.String()
}

// orNoneText writes a budget.
func orNoneText(budget int64) string {
	if budget == 0 {
		return "none"
	}
	return strconv.FormatInt(budget, 10)
}

// known writes a figure that may be unknown.
func known(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}
