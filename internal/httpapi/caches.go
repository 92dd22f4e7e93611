package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/verb"
)

// maxSettingsBytes bounds the body that describes a cache.
const maxSettingsBytes = 64 << 10

// jsonCache are the settings of a cache in JSON. A budget of 0 is none.
type jsonCache struct {
	Name        string  `json:"name"`
	Durability  string  `json:"durability"`
	DefaultTTL  jsonTTL `json:"default_ttl"`
	MaxTTL      jsonTTL `json:"max_ttl"`
	TTLJitter   int     `json:"ttl_jitter"` // per cent
	MaxBytes    int64   `json:"max_bytes"`
	MaxEntries  int64   `json:"max_entries"`
	Eviction    string  `json:"eviction"`
	Fillfactor  int     `json:"fillfactor"`
	PrefixIndex bool    `json:"prefix_index"`
	Near        bool    `json:"near"`     // it has a change log
	LogKeys     bool    `json:"log_keys"` // with keys
}

func fromConfig(c core.CacheConfig) jsonCache {
	return jsonCache{
		Name: c.Name, Durability: c.Durability, DefaultTTL: jsonTTL{c.DefaultTTL}, MaxTTL: jsonTTL{c.MaxTTL}, TTLJitter: c.TTLJitter,
		MaxBytes: c.MaxBytes, MaxEntries: c.MaxEntries, Eviction: c.Eviction, Fillfactor: c.Fillfactor, PrefixIndex: c.PrefixIndex, Near: c.Near, LogKeys: c.LogKeys,
	}
}

func (c jsonCache) config() core.CacheConfig {
	return core.CacheConfig{
		Name: c.Name, Durability: c.Durability, DefaultTTL: c.DefaultTTL.orZero(), MaxTTL: c.MaxTTL.orZero(), TTLJitter: c.TTLJitter,
		MaxBytes: c.MaxBytes, MaxEntries: c.MaxEntries, Eviction: c.Eviction, Fillfactor: c.Fillfactor, PrefixIndex: c.PrefixIndex, Near: c.Near, LogKeys: c.LogKeys,
	}
}

// jsonTTL is a TTL in JSON: a string as the parameter ttl takes it, or a
// number of seconds. Null, "" and a field that is left out are 0.
type jsonTTL struct{ duration time.Duration }

// orZero is the TTL as a setting, where none is 0.
func (t jsonTTL) orZero() time.Duration {
	if t.duration == verb.NoExpiry {
		return 0
	}
	return t.duration
}

// MarshalJSON implements json.Marshaler. It writes settings, where 0 is none.
func (t jsonTTL) MarshalJSON() ([]byte, error) {
	if t.duration == 0 {
		return []byte(`"none"`), nil
	}
	return json.Marshal(ttlText(t.duration))
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *jsonTTL) UnmarshalJSON(b []byte) error {
	text := string(b)
	if text == "null" {
		t.duration = 0
		return nil
	}
	if b[0] == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
		if text == "" {
			t.duration = 0
			return nil
		}
	}
	ttl, err := parseTTL(text)
	t.duration = ttl
	return err
}

func (a *api) listCaches(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	configs, err := a.db.Caches(r.Context())
	if err != nil {
		return err
	}
	caches := make([]jsonCache, len(configs))
	for i, config := range configs {
		caches[i] = fromConfig(config)
	}
	return writeJSON(w, http.StatusOK, map[string]any{"caches": caches})
}

// find returns the settings of the cache that the path names.
func (a *api) find(ctx context.Context, name string) (jsonCache, error) {
	configs, err := a.db.Caches(ctx)
	if err != nil {
		return jsonCache{}, err
	}
	for _, config := range configs {
		if config.Name == name {
			return fromConfig(config), nil
		}
	}
	return jsonCache{}, fault.ErrCacheNotFound
}

func (a *api) getCache(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	cache, err := a.find(r.Context(), r.PathValue("cache"))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, cache)
}

// createCache makes a cache; settings that are left out are the defaults.
func (a *api) createCache(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	cache := jsonCache{Near: a.near}
	if err := readJSON(w, r, maxSettingsBytes, &cache); err != nil {
		return err
	}
	if err := a.db.CreateCache(r.Context(), cache.config()); err != nil {
		return needsOwner(err)
	}
	cache, err := a.find(r.Context(), cache.Name)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/caches/"+cache.Name)
	return writeJSON(w, http.StatusCreated, cache)
}

// needsOwner says which privilege making, changing and dropping a cache lacks.
// No grant gives it to another role.
func needsOwner(err error) error {
	if errors.Is(err, fault.ErrPermission) {
		return problemf(permission, "%s. Making, changing and dropping caches needs the owner of the schema.", permission.title)
	}
	return err
}

// alterCache changes the settings that the body names and keeps the others.
// Null puts one back to its default, as in a merge patch (RFC 7396). With
// empty=true the cache loses its entries, and its lock is short.
func (a *api) alterCache(w http.ResponseWriter, r *http.Request) error {
	values, err := query(r, "empty")
	if err != nil {
		return err
	}
	switch values.Get("empty") {
	case "true", "", "false":
	default:
		return problemf(badRequest, "empty must be true or false.")
	}
	empty := values.Get("empty") == "true"
	var patch struct {
		Name        json.RawMessage   `json:"name"`
		Durability  optional[string]  `json:"durability"`
		DefaultTTL  optional[jsonTTL] `json:"default_ttl"`
		MaxTTL      optional[jsonTTL] `json:"max_ttl"`
		TTLJitter   optional[int]     `json:"ttl_jitter"`
		MaxBytes    optional[int64]   `json:"max_bytes"`
		MaxEntries  optional[int64]   `json:"max_entries"`
		Eviction    optional[string]  `json:"eviction"`
		Fillfactor  optional[int]     `json:"fillfactor"`
		PrefixIndex optional[bool]    `json:"prefix_index"`
		Near        optional[bool]    `json:"near"`
		LogKeys     optional[bool]    `json:"log_keys"`
	}
	if err := readJSON(w, r, maxSettingsBytes, &patch); err != nil {
		return err
	}
	name := r.PathValue("cache")
	if patch.Name != nil && string(patch.Name) != `"`+name+`"` {
		return problemf(badRequest, "A cache cannot be renamed. Create another and drop this one.")
	}
	cache, given := jsonCache{Name: name}, []string(nil)
	for setting, apply := range map[string]func() bool{
		"durability":   func() bool { return patch.Durability.apply(&cache.Durability) },
		"default_ttl":  func() bool { return patch.DefaultTTL.apply(&cache.DefaultTTL) },
		"max_ttl":      func() bool { return patch.MaxTTL.apply(&cache.MaxTTL) },
		"ttl_jitter":   func() bool { return patch.TTLJitter.apply(&cache.TTLJitter) },
		"max_bytes":    func() bool { return patch.MaxBytes.apply(&cache.MaxBytes) },
		"max_entries":  func() bool { return patch.MaxEntries.apply(&cache.MaxEntries) },
		"eviction":     func() bool { return patch.Eviction.apply(&cache.Eviction) },
		"fillfactor":   func() bool { return patch.Fillfactor.apply(&cache.Fillfactor) },
		"prefix_index": func() bool { return patch.PrefixIndex.apply(&cache.PrefixIndex) },
		"near":         func() bool { return patch.Near.apply(&cache.Near) },
		"log_keys":     func() bool { return patch.LogKeys.apply(&cache.LogKeys) },
	} {
		if apply() {
			given = append(given, setting)
		}
	}
	switch {
	case len(given) > 0:
		if err := a.db.AlterCache(withClient(r), cache.config(), core.AlterOptions{Only: given, Empty: empty}); err != nil {
			return needsOwner(err)
		}
	case empty:
		return problemf(badRequest, "empty=true goes with a change of settings. POST /v1/caches/%s/flush only empties the cache.", name)
	}
	cache, err = a.find(r.Context(), name)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, cache)
}

// optional is a member of a merge patch: left out, null, or a value.
type optional[T any] struct {
	value T
	given bool
}

// UnmarshalJSON implements json.Unmarshaler. Null leaves the zero value.
func (o *optional[T]) UnmarshalJSON(b []byte) error {
	o.given = true
	return json.Unmarshal(b, &o.value)
}

// apply puts the value into a field, and says whether there is one.
func (o optional[T]) apply(to *T) bool {
	if o.given {
		*to = o.value
	}
	return o.given
}

// dropCache removes a cache with all it holds.
func (a *api) dropCache(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	if err := unconditional(r); err != nil {
		return err
	}
	if err := a.db.DropCache(withClient(r), r.PathValue("cache")); err != nil {
		return needsOwner(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
