package pgwire

import (
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/howdah/howdah/internal/fault"
)

// prepared is what is known of one connection: the statements that it knows by name. A statement is
// prepared where it is first needed, in the same exchange: for a process with
// hundreds of caches a round trip for each would be long.
type prepared struct {
	met   time.Time // when the connection was first used here
	names map[string]bool
	// round goes up when the connection has forgotten statements (DISCARD ALL,
	// say). It makes new names, because the connection may still know some.
	round int
}

// customData is where pgx keeps it for a connection.
const customData = "howdah.prepared"

// preparedOn returns the statements of a connection.
func preparedOn(pg *pgconn.PgConn) *prepared {
	data := pg.CustomData()
	p, ok := data[customData].(*prepared)
	if !ok {
		p = &prepared{met: time.Now(), names: make(map[string]bool)}
		data[customData] = p
	}
	return p
}

// Met returns when a connection was first used by this package, or asked about: its backend
// had begun before.
func Met(pg *pgconn.PgConn) time.Time { return preparedOn(pg).met }

func (p *prepared) name(name string) string {
	if p.round == 0 || name == "" {
		return name
	}
	return name + "_" + strconv.Itoa(p.round)
}

// parse is a statement that an exchange has PostgreSQL parse.
type parse struct {
	name    string // "" for an unnamed one
	request int
}

// needsParse reports whether a statement must be parsed first, and then expects
// that it will be.
func (x *Exchange) needsParse(name string, request int) bool {
	if name != "" {
		if x.prepared.names[name] {
			return false
		}
		x.prepared.names[name] = true
	}
	x.parsing = append(x.parsing, parse{name, request})
	return true
}

// parsed takes note of the oldest statement that is being parsed.
func (x *Exchange) parsed() {
	if len(x.parsing) > 0 {
		x.parsing = x.parsing[1:]
	}
}

// unparsed forgets the statements that PostgreSQL will not parse: it refused a
// request and skips to the end of its transaction, whose last request is given.
func (x *Exchange) unparsed(request, last int, refusal error) {
	if x.prepared == nil {
		return
	}
	x.parsing = slices.DeleteFunc(x.parsing, func(p parse) bool {
		if p.request <= last {
			delete(x.prepared.names, p.name)
		}
		return p.request <= last
	})
	if fault.State(refusal) != "26000" { // invalid_sql_statement_name
		return
	}
	missing := x.prepared.name(x.Requests[request].Statement().Name)
	if x.prepared.names[missing] { // it is not one that this exchange failed to prepare
		x.prepared.names = make(map[string]bool)
		x.prepared.round++
	}
}
