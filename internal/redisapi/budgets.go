package redisapi

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
)

// errBudgetInMulti: the change would wait for locks that the transaction itself may hold.
const errBudgetInMulti = refusal("ERR CONFIG SET of maxmemory and maxmemory-policy is not available inside a transaction")

// budget is what a database may hold: what Redis calls maxmemory and maxmemory-policy.
type budget struct {
	maxBytes int64 // 0: no bound
	policy   string
	evicts   bool // there is a bound, of bytes or of entries
}

// inForce is the policy by which entries go: none while there is no bound. Clients that must not
// lose keys refuse a server that says another one (Symfony's tagged cache, queues).
func (b budget) inForce() string {
	if !b.evicts {
		return "noeviction"
	}
	return b.policy
}

// defaultPolicy is that of a cache that nobody has given another.
const defaultPolicy = "allkeys-lru"

// budgets are those of all databases, as they were read last. They are safe for concurrent use.
type budgets struct {
	mu    sync.Mutex
	read  time.Time
	known [Databases]budget
}

// of is the budget of a database.
func (b *budgets) of(number int) budget {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known[number].policy == "" {
		return budget{policy: defaultPolicy}
	}
	return b.known[number]
}

// stale reports whether they were not read lately.
func (b *budgets) stale() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.read.IsZero() || time.Since(b.read) > keyspaceAge
}

func (b *budgets) set(known [Databases]budget) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known, b.read = known, time.Now()
}

// isBudget reports whether a setting is one of a budget.
func isBudget(name []byte) bool { return is(name, "MAXMEMORY") || is(name, "MAXMEMORY-POLICY") }

// readBudgets asks PostgreSQL for the budgets of all databases.
func (t *task) readBudgets() error {
	ctx, cancel := t.bounded()
	defer cancel()
	return t.conn.engine.readBudgets(ctx)
}

// refreshBudgets reads the budgets unless they were read lately. INFO shows what was known if PostgreSQL does not
// answer soon.
func (t *task) refreshBudgets() {
	if t.conn.engine.budgets.stale() {
		ctx, cancel := context.WithTimeout(t.ctx, keyspaceWait)
		defer cancel()
		_ = t.conn.engine.readBudgets(ctx)
	}
}

func (e *Engine) readBudgets(ctx context.Context) error {
	configs, err := e.options.DB.Caches(ctx)
	if err != nil {
		return err
	}
	var known [Databases]budget
	for _, config := range configs {
		for number, cache := range e.caches {
			if cache.Name() == config.Name {
				known[number] = budget{maxBytes: config.MaxBytes, policy: config.Eviction, evicts: config.MaxBytes > 0 || config.MaxEntries > 0}
			}
		}
	}
	e.budgets.set(known)
	return nil
}

// changeBudget gives the cache of the connection's database what a CONFIG SET says of its budget. What is so
// already needs no privilege.
func (t *task) changeBudget(changes []settingChange) error {
	e, number := t.conn.engine, t.conn.database
	config := core.CacheConfig{Name: e.caches[number].Name()}
	var only, said []string
	var named string
	for _, change := range changes {
		if !change.ofCache || change.value == t.conn.value(change.setting) {
			continue
		}
		named = change.name
		if change.setting.name == "maxmemory" {
			config.MaxBytes, _ = strconv.ParseInt(change.value, 10, 64) // checked
			only, said = append(only, "max_bytes"), append(said, "--max-bytes "+change.value)
		} else {
			config.Eviction = change.value
			only, said = append(only, "eviction"), append(said, "--eviction "+change.value)
		}
	}
	if only == nil {
		return nil
	}
	if t.tx != nil {
		return errBudgetInMulti
	}
	ctx, cancel := t.bounded()
	defer cancel()
	err := e.options.DB.AlterCache(ctx, config, core.AlterOptions{Only: only})
	if errors.Is(err, fault.ErrPermission) {
		return cannotSet(named, fmt.Sprintf("the database role may not change the cache %s; "+
			"run howdah caches alter %[1]s %s as the owner of the schema", config.Name, strings.Join(said, " ")))
	}
	if err != nil {
		return err
	}
	return e.readBudgets(ctx)
}
