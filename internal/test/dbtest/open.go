package dbtest

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/test/pgtest"
)

// Timeout is how long calls may take: a loaded machine takes its time.
const Timeout = 20 * time.Second

// Patient returns options with Timeout.
func Patient() *howdah.Options { return &howdah.Options{Timeout: Timeout} }

// Open opens a database and closes it at the end of the test. Without options it takes
// Patient.
func Open(t *testing.T, url string, opts *howdah.Options) *howdah.DB {
	t.Helper()
	if opts == nil {
		opts = Patient()
	}
	db, err := howdah.Open(t.Context(), url, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// Unhurried is a context for calls that must end by Options.Timeout, which is
// much less: ended, which comes after them, fails the test if it was the context
// that ended them.
func Unhurried(t *testing.T) (ctx context.Context, ended func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	return ctx, func() {
		t.Helper()
		if ctx.Err() != nil {
			t.Error("a call hung")
		}
		cancel()
	}
}

// NewRole makes a role that may log in, and returns its name and its URL.
func NewRole(t *testing.T, owner string) (role, app string) {
	t.Helper()
	u := ParseURL(t, owner)
	role = "role_" + u.Path[1:]
	super, err := pgx.Connect(t.Context(), pgtest.SuperURL(owner))
	require.NoError(t, err)
	_, err = super.Exec(t.Context(), "CREATE ROLE "+role+" LOGIN PASSWORD 'p'")
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := super.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		require.NoError(t, err)
		require.NoError(t, super.Close(context.Background()))
	})
	u.User = url.UserPassword(role, "p")
	return role, u.String()
}

// ParseURL takes the URL of a database apart.
func ParseURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	require.NoError(t, err)
	return u
}
