package backend_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/backend"
	"github.com/howdah/howdah/backend/backendtest"
	"github.com/howdah/howdah/internal/test/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func open(t *testing.T, url string, opts *backend.Options) howdah.Backend {
	t.Helper()
	store, err := backend.Open(t.Context(), url, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// patient gives calls of a busy test machine more time than the default.
func patient() *backend.Options {
	return &backend.Options{Postgres: &howdah.Options{Timeout: 10 * time.Second}}
}

func TestPostgresConformance(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	caps, known := backend.CapabilitiesOf(open(t, url, patient()))
	require.True(t, known)
	backendtest.Run(t, func(t *testing.T) howdah.Backend { return open(t, url, patient()) }, caps)
}

// TestDurabilityConformance: what a cache can do does not depend on its class.
func TestDurabilityConformance(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db := open(t, url, patient()).(*backend.Postgres).DB
	for _, durability := range []string{"async", "sync"} {
		t.Run(durability, func(t *testing.T) {
			require.NoError(t, db.CreateCache(t.Context(), howdah.CacheConfig{Name: durability, Durability: howdah.Durability(durability)}))
			own := withParameter(url, "cache="+durability)
			caps, _ := backend.CapabilitiesOf(open(t, own, patient()))
			backendtest.Run(t, func(t *testing.T) howdah.Backend { return open(t, own, patient()) }, caps)
		})
	}
}

func withParameter(url, parameter string) string {
	if strings.Contains(url, "?") {
		return url + "&" + parameter
	}
	return url + "?" + parameter
}

func TestOpenPostgresCache(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db0 := open(t, url, patient()).(*backend.Postgres)
	require.Equal(t, backend.DefaultCache, db0.Name())
	require.NoError(t, db0.DB.CreateCache(t.Context(), howdah.CacheConfig{Name: "pages", DefaultTTL: 100 * time.Millisecond}))
	pages := open(t, withParameter(url, "cache=pages"), patient())
	require.Equal(t, "pages", pages.(*backend.Postgres).Name())

	require.NoError(t, pages.Set(t.Context(), "k", []byte("v"), 0))
	_, err := db0.Get(t.Context(), "k")
	require.ErrorIs(t, err, howdah.ErrMiss, "the caches are not kept apart")
	require.Eventually(t, func() bool {
		_, err := pages.Get(t.Context(), "k")
		return errors.Is(err, howdah.ErrMiss)
	}, time.Minute, time.Millisecond, "the cache's default TTL was not used")

	_, err = backend.Open(t.Context(), withParameter(url, "cache=absent"), nil)
	require.ErrorIs(t, err, howdah.ErrCacheNotFound)
	_, err = backend.Open(t.Context(), withParameter(url, "cache=No!"), nil)
	require.ErrorIs(t, err, howdah.ErrInvalidName)
	_, err = backend.Open(t.Context(), pgtest.Empty(t), nil)
	require.ErrorIs(t, err, howdah.ErrSchemaMissing)
}

func TestOpenPooler(t *testing.T) {
	t.Parallel()
	url := withParameter(pgtest.New(t), "cache=db0&pooler=transaction")
	store := open(t, url, patient())
	require.NoError(t, store.Set(t.Context(), "k", []byte("v"), 0))
	value, err := store.Get(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "v", string(value))
}

func TestOpenScheme(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	scheme, rest, _ := strings.Cut(url, "://")
	other := map[string]string{"postgres": "postgresql", "postgresql": "postgres"}[scheme]
	require.NotEmpty(t, other, url)
	open(t, other+"://"+rest, patient())
}

func TestOpenMemory(t *testing.T) {
	t.Parallel()
	store := open(t, "memory://?max_bytes=100000&default_ttl=50ms&max_value_bytes=10", nil)
	require.ErrorIs(t, store.Set(t.Context(), "k", make([]byte, 11), 0), howdah.ErrValueTooLarge)
	require.NoError(t, store.Set(t.Context(), "k", nil, 0))
	require.Eventually(t, func() bool {
		_, err := store.Get(t.Context(), "k")
		return errors.Is(err, howdah.ErrMiss)
	}, time.Minute, time.Millisecond)
	open(t, "memory://", nil)
	open(t, "memory:///?max_entries=10", nil)
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                  "no scheme",
		"pages":                             "no scheme",
		"mysql://host/db":                   `"mysql" is not known`,
		"POSTGRES://host/db":                `"POSTGRES" is not known`,
		"postgres://host/db?cache=":         "cache= in the URL is empty",
		"postgres://u:secret@host/d?%zz":    "parameters of the URL",
		"postgres://u:secret@ho st:x/d":     "URL",
		"postgres://u:secret@127.0.0.1:1/d": "unavailable",
		"memory://host":                     "memory://?max_bytes",
		"memory://?max_bytes=x":             "max_bytes",
		"memory://?max_bytes=-1":            "max_bytes",
		"memory://?max_byte=1":              "max_byte is not known",
		"memory://?default_ttl=10":          "default_ttl",
		"memory://?max_bytes=9&max_entries=9&default_ttl=1s": "not both",
		"memcached://":                       "memcached://host",
		"memcached://127.0.0.1:1":            "unavailable",
		"redis://u:secret@127.0.0.1:1":       "unavailable",
		"redis://u:secret@127.0.0.1:x":       "redis",
		"redis://127.0.0.1:1/notanumber":     "redis",
		"redis://127.0.0.1:1?default_ttl=10": "default_ttl",
	} {
		store, err := backend.Open(t.Context(), url, nil)
		require.Nil(t, store, url)
		require.ErrorContains(t, err, want, url)
		require.NotContains(t, err.Error(), "secret", url)
	}
}

type foreign struct{ howdah.Backend }

type described struct{ foreign }

func (described) Capabilities() backend.Capabilities { return backend.Capabilities{Store: "own"} }

func TestCapabilitiesOfOthers(t *testing.T) {
	t.Parallel()
	_, known := backend.CapabilitiesOf(foreign{})
	require.False(t, known)
	caps, known := backend.CapabilitiesOf(described{})
	require.True(t, known)
	require.Equal(t, "own", caps.Store)
}

// TestDocumentedDifferences holds the table of docs/backends.md to the
// capabilities that the conformance suite tests.
func TestDocumentedDifferences(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../docs/backends.md")
	require.NoError(t, err)
	require.Contains(t, string(doc), backend.Differences(),
		"docs/backends.md is out of date; the table must be:\n\n%s", backend.Differences())
}
