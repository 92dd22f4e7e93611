package redisapi

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/howdah/howdah/internal/values"
)

// setting is one setting of Redis. CONFIG SET remembers the settings that have no
// effect in Howdah, so that programs which tune Redis do not fail, and refuses to
// change the others.
type setting struct {
	name     string
	alias    string // its name before Redis 5 or 7, if it had one
	kind     settingKind
	value    string   // the default
	choices  []string // of an enumeration
	min, max int64    // of an integer or a size
	refused  bool     // any other value than the present one is refused
	ofCache  bool     // it is kept in PostgreSQL, by the cache of the database
}

type settingKind uint8

const (
	textSetting settingKind = iota
	booleanSetting
	integerSetting
	memorySetting // bytes, perhaps with a unit
	percentSetting
	choiceSetting
	eventSetting // which keyspace events are published, kept in the database
	percentileListSetting
	immutableSetting
	protectedSetting
)

func newSetting(names, value string, kind settingKind) *setting {
	name, alias, _ := strings.Cut(names, "|")
	return &setting{name: name, alias: alias, value: value, kind: kind}
}

func text(names, value string) *setting       { return newSetting(names, value, textSetting) }
func boolean(names, value string) *setting    { return newSetting(names, value, booleanSetting) }
func memorySize(names, value string) *setting { return newSetting(names, value, memorySetting) }
func immutable(names, value string) *setting  { return newSetting(names, value, immutableSetting) }
func protected(names, value string) *setting  { return newSetting(names, value, protectedSetting) }

// memoryOrPercent is a size, or a part of maxmemory.
func memoryOrPercent(names, value string) *setting { return newSetting(names, value, percentSetting) }

func integer(names, value string, least, most int64) *setting {
	s := newSetting(names, value, integerSetting)
	s.min, s.max = least, most
	return s
}

func choice(names, value, choices string) *setting {
	s := newSetting(names, value, choiceSetting)
	s.choices = strings.Fields(choices)
	return s
}

// atLeast bounds a size, in bytes.
func (s *setting) atLeast(least int64) *setting {
	s.min = least
	return s
}

// fixed makes a setting one that CONFIG SET cannot change.
func (s *setting) fixed() *setting {
	s.refused = true
	return s
}

// kept makes a setting one of the cache of a database.
func (s *setting) kept() *setting {
	s.ofCache = true
	return s
}

// maxText bounds a text that is remembered, in bytes.
const maxText = 1024

// parse checks a value as Redis does and returns it as CONFIG GET shows it. The
// error is Redis's text.
func (s *setting) parse(value string) (string, refusal) {
	switch s.kind {
	case booleanSetting:
		if strings.EqualFold(value, "yes") || strings.EqualFold(value, "no") {
			return strings.ToLower(value), ""
		}
		return "", "argument must be 'yes' or 'no'"
	case choiceSetting:
		if word := strings.ToLower(value); slices.Contains(s.choices, word) {
			return word, ""
		}
		return "", refusal("argument(s) must be one of the following: " + strings.Join(s.choices, ", "))
	case integerSetting:
		n, err := parseInt([]byte(value))
		if err != nil {
			return "", "argument couldn't be parsed into an integer"
		}
		if n < s.min || n > s.max {
			return "", outOfBounds(s.min, s.max)
		}
		return value, ""
	case eventSetting:
		value = string(cString([]byte(value), len(value)))
		if _, ok := values.ParseClasses(value); ok {
			return value, "" // what CONFIG GET shows may say less
		}
		return "", "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."
	case percentileListSetting:
		return parsePercentiles(value)
	case percentSetting:
		if n, err := parseInt([]byte(strings.TrimSuffix(value, "%"))); err == nil && n >= 0 && strings.HasSuffix(value, "%") {
			return value, ""
		}
		if _, ok := parseMemory(value); !ok {
			return "", "argument must be a memory or percent value"
		}
		return s.parseMemory(value)
	case memorySetting:
		return s.parseMemory(value)
	}
	return value, ""
}

func outOfBounds(least, most int64) refusal {
	return refusal(fmt.Sprintf("argument must be between %d and %d inclusive", least, most))
}

func (s *setting) parseMemory(value string) (string, refusal) {
	n, ok := parseMemory(value)
	switch {
	case !ok:
		return "", "argument must be a memory value"
	case n > math.MaxInt64 || int64(n) < s.min:
		return "", outOfBounds(s.min, math.MaxInt64)
	}
	return strconv.FormatUint(n, 10), ""
}

// memoryUnits are the units of sizes, of a thousand or of 1024.
var memoryUnits = map[string]uint64{
	"": 1, "b": 1, "k": 1000, "kb": 1 << 10, "m": 1000_000, "mb": 1 << 20, "g": 1000_000_000, "gb": 1 << 30,
}

// parseMemory reads a size as Redis's memtoull does: digits, of which there may
// be none, and a unit.
func parseMemory(value string) (n uint64, ok bool) {
	unit := strings.TrimLeft(value, "0123456789")
	factor, known := memoryUnits[strings.ToLower(unit)]
	if !known {
		return 0, false
	}
	digits := value[:len(value)-len(unit)]
	if digits == "" {
		return 0, true
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n > math.MaxUint64/factor {
		n, factor = math.MaxUint64, 1
	}
	return n * factor, true
}

// settings are those of an engine: what CONFIG SET has changed is remembered
// until the process ends. It is safe for concurrent use.
type settings struct {
	list   []*setting
	byName map[string]*setting // aliases too

	mu      sync.Mutex
	changed map[*setting]string
}

func newSettings() *settings {
	s := &settings{list: settingList(), byName: make(map[string]*setting), changed: make(map[*setting]string)}
	for _, one := range s.list {
		s.byName[one.name] = one
		if one.alias != "" {
			s.byName[one.alias] = one
		}
	}
	return s
}

// value is what the client sees of a setting.
func (c *Conn) value(s *setting) string {
	o := &c.engine.options
	switch s.name {
	case "maxclients":
		return strconv.Itoa(o.MaxClients)
	case "maxmemory":
		return strconv.FormatInt(c.engine.budgets.of(c.database).maxBytes, 10)
	case "maxmemory-policy":
		return c.engine.budgets.of(c.database).policy
	case "timeout":
		return strconv.FormatInt(seconds(c.engine.IdleTimeout()), 10)
	case "port":
		return c.localPort()
	case "proto-max-bulk-len":
		return strconv.Itoa(o.MaxBulk)
	case "cluster-enabled":
		if o.Cluster.Enabled {
			return "yes"
		}
	case "notify-keyspace-events":
		return o.DB.EventSetting().String()
	case "slowlog-log-slower-than":
		if slow := c.engine.slowLog(); slow.On() {
			return strconv.FormatInt(slow.Threshold().Microseconds(), 10)
		}
		return "-1"
	case "slowlog-max-len":
		return strconv.Itoa(c.engine.slowLog().Max())
	case "requirepass":
		if o.Password != "" {
			return "(hidden)"
		}
	}
	return c.engine.settings.present(s)
}

// present is the value of a setting that CONFIG SET may have changed.
func (all *settings) present(s *setting) string {
	all.mu.Lock()
	defer all.mu.Unlock()
	if value, changed := all.changed[s]; changed {
		return value
	}
	return s.value
}

// now is present of a setting by its name.
func (all *settings) now(name string) string { return all.present(all.byName[name]) }

// seconds is a duration in whole seconds, rounded up: 0 is none.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
