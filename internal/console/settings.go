package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
)

// field is one setting in the form.
type field struct {
	Name    string // as howdah.alter_cache names it
	Label   string
	Help    string
	Value   string
	Choices []string // of a setting with few values
	Error   string
	Changed bool
	Locks   string // what a change of it does to the other users of the cache
}

// settingsView is the page of the settings of a cache.
type settingsView struct {
	Cache  string
	Fields []field
	State  string // the settings that the form was written for
	SQL    string // what the form will run; "" before there is a change
	Locks  []string
	Word   string // what has to be typed, if anything
	Notice string // why nothing was changed
}

// setting reads and writes one field of a CacheConfig. parse gets the text of the form.
type setting struct {
	name, label, help string
	choices           []string
	locks             string
	text              func(*core.CacheConfig) string
	parse             func(*core.CacheConfig, string) error
	literal           func(*core.CacheConfig) string // in SQL; "" is the default
}

const (
	rewrites   = "rewrites the table if it is or was unlogged: all users of the cache wait, about a second for each 100 MB"
	shortLocks = "locks the table for a moment, at most two seconds"
)

// settingsOf are all settings, in the order of the form.
var settingsOf = []setting{
	text("durability", "Class", "unlogged is fastest and is empty after a crash; async can lose the last writes; sync loses none.", rewrites,
		[]string{"unlogged", "async", "sync"}, func(c *core.CacheConfig) *string { return &c.Durability }),
	length("default_ttl", "Default TTL", "TTL of entries that are stored without one, such as 10m or 24h. Empty: they do not expire.", func(c *core.CacheConfig) *time.Duration { return &c.DefaultTTL }),
	length("max_ttl", "Longest TTL", "Longer TTLs are cut to this one. Empty: no bound.", func(c *core.CacheConfig) *time.Duration { return &c.MaxTTL }),
	whole32("ttl_jitter", "TTL jitter", "Per cent by which TTLs are shortened at random, so that what is stored together does not expire together: 0 to 90.", "", func(c *core.CacheConfig) *int { return &c.TTLJitter }),
	amount("max_bytes", "Budget in bytes", "Keys, values and 100 bytes an entry. Empty: none.", func(c *core.CacheConfig) *int64 { return &c.MaxBytes }),
	amount("max_entries", "Budget in entries", "Empty: none.", func(c *core.CacheConfig) *int64 { return &c.MaxEntries }),
	text("eviction", "Eviction", "What is removed beyond the budget.", "",
		[]string{"allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl", "noeviction"},
		func(c *core.CacheConfig) *string { return &c.Eviction }),
	whole32("fillfactor", "Fillfactor", "Share of a page that inserts fill, 10 to 100 per cent.", "", func(c *core.CacheConfig) *int { return &c.Fillfactor }),
	flag("prefix_index", "Index of prefixes", "A second index, for caches that often delete by prefix.", "builds an index: writes of the cache wait meanwhile", func(c *core.CacheConfig) *bool { return &c.PrefixIndex }),
	flag("near", "Change log", "Notes every write, so that programs can keep entries in their own memory.", shortLocks, func(c *core.CacheConfig) *bool { return &c.Near }),
	flag("log_keys", "Keys in the change log", "For clients with CLIENT TRACKING ON BCAST. Needs the change log.", shortLocks, func(c *core.CacheConfig) *bool { return &c.LogKeys }),
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func text(name, label, help, locks string, choices []string, at func(*core.CacheConfig) *string) setting {
	return setting{name: name, label: label, help: help, locks: locks, choices: choices,
		text:    func(c *core.CacheConfig) string { return *at(c) },
		literal: func(c *core.CacheConfig) string { return quote(*at(c)) },
		parse: func(c *core.CacheConfig, s string) error {
			if !slices.Contains(choices, s) {
				return fmt.Errorf("choose one of %s", strings.Join(choices, ", "))
			}
			*at(c) = s
			return nil
		}}
}

func length(name, label, help string, at func(*core.CacheConfig) *time.Duration) setting {
	return setting{name: name, label: label, help: help,
		text: func(c *core.CacheConfig) string {
			if *at(c) == 0 {
				return ""
			}
			return shortDuration(*at(c))
		},
		literal: func(c *core.CacheConfig) string {
			if *at(c) == 0 {
				return ""
			}
			return quote(strconv.FormatInt(at(c).Microseconds(), 10) + " microseconds")
		},
		parse: func(c *core.CacheConfig, s string) error {
			if s == "" {
				*at(c) = 0
				return nil
			}
			d, err := time.ParseDuration(s)
			if err != nil {
				seconds, wrong := strconv.ParseInt(s, 10, 32)
				if wrong != nil {
					return fmt.Errorf("write a duration such as 90s, 10m or 24h, or seconds")
				}
				d = time.Duration(seconds) * time.Second
			}
			if d <= 0 {
				return fmt.Errorf("write a duration above zero, or nothing")
			}
			*at(c) = d
			return nil
		}}
}

// shortDuration writes a duration as people type it: 24h, not 24h0m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func amount(name, label, help string, at func(*core.CacheConfig) *int64) setting {
	return setting{name: name, label: label, help: help,
		text: func(c *core.CacheConfig) string {
			if *at(c) == 0 {
				return ""
			}
			return strconv.FormatInt(*at(c), 10)
		},
		literal: func(c *core.CacheConfig) string {
			if *at(c) == 0 {
				return ""
			}
			return strconv.FormatInt(*at(c), 10)
		},
		parse: func(c *core.CacheConfig, s string) error {
			if s == "" {
				*at(c) = 0
				return nil
			}
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil || n <= 0 {
				return fmt.Errorf("write a whole number above zero, or nothing")
			}
			*at(c) = n
			return nil
		}}
}

func whole32(name, label, help, locks string, at func(*core.CacheConfig) *int) setting {
	return setting{name: name, label: label, help: help, locks: locks,
		text:    func(c *core.CacheConfig) string { return strconv.Itoa(*at(c)) },
		literal: func(c *core.CacheConfig) string { return strconv.Itoa(*at(c)) },
		parse: func(c *core.CacheConfig, s string) error {
			n, err := strconv.ParseInt(s, 10, 32)
			if err != nil {
				return fmt.Errorf("write a whole number")
			}
			*at(c) = int(n)
			return nil
		}}
}

func flag(name, label, help, locks string, at func(*core.CacheConfig) *bool) setting {
	return setting{name: name, label: label, help: help, locks: locks, choices: []string{"off", "on"},
		text:    func(c *core.CacheConfig) string { return map[bool]string{true: "on", false: "off"}[*at(c)] },
		literal: func(c *core.CacheConfig) string { return strconv.FormatBool(*at(c)) },
		parse: func(c *core.CacheConfig, s string) error {
			if s != "on" && s != "off" {
				return fmt.Errorf("choose on or off")
			}
			*at(c) = s == "on"
			return nil
		}}
}

// config reads the settings of a cache.
func (r *request) config(cache string) (core.CacheConfig, error) {
	ctx, cancel := r.bounded()
	defer cancel()
	configs, err := r.console.db.Caches(ctx)
	if err != nil {
		return core.CacheConfig{}, err
	}
	for _, config := range configs {
		if config.Name == cache {
			return config, nil
		}
	}
	return core.CacheConfig{}, fault.ErrCacheNotFound
}

// state writes the settings as one text, to find out later whether they are still the same.
func state(config *core.CacheConfig) string {
	var b strings.Builder
	for _, s := range settingsOf {
		fmt.Fprintf(&b, "%s=%s;", s.name, s.text(config))
	}
	return b.String()
}

func newSettingsView(config *core.CacheConfig) *settingsView {
	view := &settingsView{Cache: config.Name, State: state(config)}
	for _, s := range settingsOf {
		view.Fields = append(view.Fields, field{Name: s.name, Label: s.label, Help: s.help, Value: s.text(config), Choices: s.choices, Locks: s.locks})
	}
	return view
}

func (r *request) showSettings(status int, view *settingsView) error {
	return r.show(status, "settings.html", frame{Title: view.Cache + ": settings", Section: "caches", Page: view})
}

func (c *Console) settings(r *request) error {
	config, err := r.config(r.PathValue("cache"))
	if err != nil {
		return err
	}
	return r.showSettings(http.StatusOK, newSettingsView(&config))
}

// changeSettings first shows the statement that a form will run and what that does to others,
// and runs it when the second form has agreed.
func (c *Console) changeSettings(r *request) error {
	before, err := r.config(r.PathValue("cache"))
	if err != nil {
		return err
	}
	after := before
	view := newSettingsView(&before)
	changed, ok := view.apply(r, &before, &after)
	switch {
	case !ok:
		return r.showSettings(http.StatusUnprocessableEntity, view)
	case len(changed) == 0:
		view.Notice = "Nothing was changed: the form has the settings as they are."
		return r.showSettings(http.StatusOK, view)
	}
	view.SQL = alterSQL(&after, changed)
	if before.Durability != after.Durability {
		view.Word = before.Name
	}
	switch {
	case r.PostForm.Get("step") != "apply":
		return r.showSettings(http.StatusOK, view)
	case r.PostForm.Get("state") != view.State:
		view.Notice = "Nothing was changed: the settings have changed since the page was loaded. Look at them, and agree again."
		return r.showSettings(http.StatusConflict, view)
	case r.PostForm.Get("confirm") != view.Word:
		view.Notice = "Nothing was changed: what you typed is not the name of the cache."
		return r.showSettings(http.StatusConflict, view)
	}
	ctx, cancel := context.WithTimeout(r.Context(), statementsTime)
	defer cancel()
	if err := c.db.AlterCache(ctx, after, core.AlterOptions{Only: changed}); err != nil {
		return asOwner(err, view.SQL)
	}
	r.audit(after.Name, "settings changed", view.SQL)
	return r.back("caches/"+after.Name+"/settings", "changed")
}

// apply puts the fields of the form into after, and says which settings changed.
func (view *settingsView) apply(r *request, before, after *core.CacheConfig) (changed []string, ok bool) {
	ok = true
	for i, s := range settingsOf {
		f := &view.Fields[i]
		if !r.PostForm.Has(s.name) {
			continue
		}
		f.Value = strings.TrimSpace(r.PostForm.Get(s.name))
		if err := s.parse(after, f.Value); err != nil {
			f.Error, ok = err.Error(), false
			continue
		}
		if s.text(after) != s.text(before) {
			f.Changed = true
			changed = append(changed, s.name)
			if f.Locks != "" {
				view.Locks = append(view.Locks, f.Label+": "+f.Locks+".")
			}
		}
	}
	return changed, ok
}

// alterSQL is the statement that changes the settings, as people write it.
func alterSQL(config *core.CacheConfig, changed []string) string {
	arguments := []string{quote(config.Name)}
	var reset []string
	for _, s := range settingsOf {
		if !slices.Contains(changed, s.name) {
			continue
		}
		if value := s.literal(config); value != "" {
			arguments = append(arguments, s.name+" => "+value)
		} else {
			reset = append(reset, quote(s.name))
		}
	}
	if len(reset) > 0 {
		arguments = append(arguments, "reset => ARRAY["+strings.Join(reset, ", ")+"]")
	}
	return "SELECT howdah.alter_cache(" + strings.Join(arguments, ", ") + ");"
}
