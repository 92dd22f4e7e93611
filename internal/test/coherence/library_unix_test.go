//go:build unix

package coherence

import (
	"context"

	"github.com/howdah/howdah"
)

// library writes through the methods of Cache, each by itself.
func (a *actor) library(ctx context.Context) {
	for a.pause(ctx, short) {
		a.libraryCall(ctx)
	}
}

func (a *actor) libraryCall(ctx context.Context) {
	ctx, cancel := within(ctx, callTimeout)
	defer cancel()
	key := a.key()
	name, cache, w := KeyName(key), a.cache(key), a.store(key)
	value := FormatValue(w.Value)
	switch a.rng.IntN(10) {
	default:
		a.attempt(func() error { return cache.Set(ctx, name, value, 0) }, w)
	case 0:
		a.attempt(func() error { return cache.Add(ctx, name, value, 0) }, w)
	case 1:
		a.attempt(func() error { return cache.Replace(ctx, name, value, 0) }, w)
	case 2:
		a.attempt(func() error { return a.compareAndSet(ctx, cache, name, value) }, w)
	case 3:
		a.setMany(ctx, key)
	case 4:
		a.attempt(func() error { return cache.Delete(ctx, name) }, a.remove(key))
	case 5:
		a.attempt(func() error { _, err := cache.DeleteMany(ctx, []string{name}); return err }, a.remove(key))
	case 6:
		a.attempt(func() error { _, err := cache.GetAndDelete(ctx, name); return err }, a.remove(key))
	}
}

func (a *actor) compareAndSet(ctx context.Context, cache *howdah.Cache, name string, value []byte) error {
	e, err := cache.GetEntry(ctx, name)
	if err != nil {
		return err
	}
	_, err = cache.CompareAndSet(ctx, name, e.Version, value, 0)
	return err
}

func (a *actor) setMany(ctx context.Context, key int) {
	var writes []Write
	var items []howdah.Item
	for k := key; k < a.Keys && len(writes) < 4; k += len(a.Caches) { // one cache
		w := a.store(k)
		writes = append(writes, w)
		items = append(items, howdah.Item{Key: KeyName(k), Value: FormatValue(w.Value)})
	}
	a.attempt(func() error { return a.cache(key).SetMany(ctx, items, 0) }, writes...)
}
