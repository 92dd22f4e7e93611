package fault

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Unreachable turns an error of connecting by pgx into one sentence that says
// what to do; other errors come back as they are.
func Unreachable(err error) error {
	var connecting *pgconn.ConnectError
	if !errors.As(err, &connecting) {
		return err
	}
	c := connecting.Config
	place := net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))
	switch State(err) {
	case "28P01", "28000":
		return &unreachable{fmt.Sprintf("PostgreSQL at %s does not let user %q in: correct the user or password in the database URL, or pg_hba.conf", place, c.User), err}
	case "3D000":
		return &unreachable{fmt.Sprintf("there is no database %q at %s: create it with CREATE DATABASE, or correct the database URL", c.Database, place), err}
	}
	if strings.Contains(err.Error(), "unsupported startup parameter") { // pgbouncer says 08P01, as of any other mistake
		return &unreachable{fmt.Sprintf("the pooler at %s refuses settings that a connection begins with (%s): say --pooler transaction, or pooler=transaction in the database URL", place, lastReason(err)), err}
	}
	if strings.Contains(err.Error(), "server is in standby mode") {
		return &unreachable{fmt.Sprintf("no primary answers at %s, only a standby, which cannot store: name the primary in the database URL, or promote the standby", places(c)), err}
	}
	return &unreachable{fmt.Sprintf("cannot reach PostgreSQL at %s: start it, or correct the database URL (%s)", place, lastReason(err)), err}
}

// places lists the hosts of a database URL.
func places(c *pgconn.Config) string {
	all := []string{net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))}
	for _, f := range c.Fallbacks {
		if place := net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port))); !slices.Contains(all, place) {
			all = append(all, place)
		}
	}
	return strings.Join(all, ", ")
}

// lastReason is the innermost error: the driver wraps it in every address that
// it tried.
func lastReason(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, "error: "); i >= 0 {
		text = text[i+len("error: "):]
	}
	var lines []string // of an unknown host, the driver says each twice: with TLS and without
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}

// unreachable is a sentence about an error of the driver.
type unreachable struct {
	sentence string
	cause    error
}

func (e *unreachable) Error() string { return e.sentence }
func (e *unreachable) Unwrap() error { return e.cause }

// OneLine is an error of the driver as one sentence; the driver lists the
// addresses that it tried on lines of their own.
func OneLine(err error) error { return oneLine{err} }

type oneLine struct{ error }

func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }
func (e oneLine) Unwrap() error { return e.error }
