package experiment

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/howdah/howdah/bench/internal/service"
)

const statementsLibrary = "pg_stat_statements"

// statements reads the time that PostgreSQL itself spends in statements.
type statements struct{ d *db }

// haveStatements tells whether the installed PostgreSQL brings the library.
// Debian puts it into the server's package, others into one for contrib.
func haveStatements() bool {
	path, err := service.Postgres.Find()
	if err != nil {
		return false
	}
	out, err := exec.Command(filepath.Join(filepath.Dir(path), "pg_config"), "--pkglibdir").Output()
	dir := strings.TrimSpace(string(out))
	if err != nil { // pg_config is in a package of its own
		dir = filepath.Join(filepath.Dir(path), "..", "lib")
	}
	_, err = os.Stat(filepath.Join(dir, statementsLibrary+".so"))
	return err == nil
}

// statements begins to count, or returns nil where the server cannot.
func (b *Bench) statements(ctx context.Context) *statements {
	d, err := b.sql(ctx)
	if err != nil {
		return nil
	}
	s := &statements{d}
	err = d.run(ctx, `CREATE EXTENSION IF NOT EXISTS `+statementsLibrary)
	if err == nil {
		err = s.reset(ctx)
	}
	if err != nil {
		b.Progress("without times of the server: %v", err)
		return nil
	}
	return s
}

func (s *statements) reset(ctx context.Context) error {
	return s.d.run(ctx, `SELECT `+statementsLibrary+`_reset()`)
}

// milliseconds is what all statements of this database took since the reset.
func (s *statements) milliseconds(ctx context.Context) (total float64, err error) {
	err = s.d.QueryRow(ctx, `
		SELECT coalesce(sum(total_exec_time), 0) FROM pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND query NOT LIKE '%pg_stat_statements%'`).Scan(&total)
	return total, err
}
