package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/howdah/howdah/bench/internal/service"
)

// sourceTable is the cache of "Can Postgres replace Redis as a cache?" with
// its second index, which does what the UNIQUE one does already.
const sourceTable = `
	CREATE %s TABLE %s (
		id          serial PRIMARY KEY,
		key         text   UNIQUE NOT NULL,
		value       jsonb,
		inserted_at timestamp
	) %s`

// pgbenchRun is what pgbench is asked for.
type pgbenchRun struct {
	name    string // of the script's file
	script  string // one transaction; :n is 0 at first and kept from one to the next
	clients int
	seconds int
	options string // settings of the sessions, such as -c name=value
}

// pgbenchAnswer is what it says.
type pgbenchAnswer struct {
	transactions int64
	latency      float64 // ms, the mean
	tps          float64
}

// pgbenchProgram finds pgbench, and the database that it is to load.
func (b *Bench) pgbenchProgram(ctx context.Context) (program, url string, err error) {
	if program, err = service.PgBench.Find(); err != nil {
		return "", "", err
	}
	b.versions["pgbench"] = service.PgBench.Version()
	url, err = b.sqlURL(ctx)
	return program, url, err
}

// pgbench runs a script in the simple protocol, as pgbench does unless told
// otherwise, over the Unix socket. Every transaction must succeed: a script
// that ends a SELECT with \gset thereby asserts that it found one row.
func (b *Bench) pgbench(ctx context.Context, p pgbenchRun) (answer pgbenchAnswer, err error) {
	program, url, err := b.pgbenchProgram(ctx)
	if err != nil {
		return answer, err
	}
	if url, err = service.WithOptions(url, p.options); err != nil {
		return answer, err
	}
	file := filepath.Join(b.dir, p.name+".sql")
	if err := os.WriteFile(file, []byte(p.script), 0o644); err != nil {
		return answer, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(p.seconds)*time.Second+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--no-vacuum", "--file="+file, "--define=n=0",
		"--client="+strconv.Itoa(p.clients), "--jobs="+strconv.Itoa(min(p.clients, 2)), "--time="+strconv.Itoa(p.seconds), url)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return answer, fmt.Errorf("pgbench, %s: %w: %s", p.name, err, out)
	}
	return parsePgbench(string(out))
}

// freshCache makes a cache that is empty.
func (d *db) freshCache(ctx context.Context, name string) error {
	return d.run(ctx, `SELECT howdah.drop_cache('`+name+`', true)`, `SELECT howdah.create_cache('`+name+`')`)
}

// clientCount names the case of a number of clients.
func clientCount(n int) string {
	if n == 1 {
		return "1 client"
	}
	return strconv.Itoa(n) + " clients"
}

var (
	pgbenchTransactions = regexp.MustCompile(`(?m)^number of transactions actually processed: (\d+)`)
	pgbenchFailed       = regexp.MustCompile(`(?m)^number of failed transactions: (\d+)`)
	pgbenchLatency      = regexp.MustCompile(`(?m)^latency average = ([0-9.]+) ms`)
	pgbenchTPS          = regexp.MustCompile(`(?m)^tps = ([0-9.]+) \(without`)
)

func parsePgbench(out string) (a pgbenchAnswer, err error) {
	number := func(r *regexp.Regexp) float64 {
		m := r.FindStringSubmatch(out)
		if m == nil {
			err = errors.Join(err, fmt.Errorf("pgbench printed nothing like %q: version 14 or newer is needed", r))
			return 0
		}
		v, parseErr := strconv.ParseFloat(m[1], 64)
		err = errors.Join(err, parseErr)
		return v
	}
	a = pgbenchAnswer{int64(number(pgbenchTransactions)), number(pgbenchLatency), number(pgbenchTPS)}
	if m := pgbenchFailed.FindStringSubmatch(out); err == nil && m != nil && m[1] != "0" { // said since version 15
		err = fmt.Errorf("pgbench: %s transactions failed", m[1])
	}
	if err == nil && a.transactions == 0 {
		err = errors.New("pgbench made no transaction")
	}
	if err != nil {
		return a, fmt.Errorf("%w\n%s", err, out)
	}
	return a, nil
}
