package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
)

// ramTablespace puts the tables into memory that looks like a disk.
func ramTablespace() Experiment {
	return Experiment{
		Name:  "ram-tablespace",
		Title: "A cache table on a RAM disk (tmpfs) and on the disk",
		Needs: []service.Program{service.Postgres, service.PgBench},
		Quick: 30 * time.Second, Full: 70 * time.Second,
		Run: runRAMTablespace,
	}
}

const ramReads, ramWrites = "One SELECT a transaction, 10 clients", "One INSERT a transaction, 10 clients"

func runRAMTablespace(ctx context.Context, b *Bench, r *result.Result) error {
	if b.DatabaseURL != "" {
		return errors.New("a tablespace belongs to a machine and a superuser: run this experiment without --database-url")
	}
	dir, err := ramDir()
	if err != nil {
		return err
	}
	b.later(func() error { return os.RemoveAll(dir) }) // after the server has stopped
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	if err := giveToPostgres(ctx, d, dir); err != nil {
		return err
	}
	if _, err := d.Exec(ctx, `CREATE TABLESPACE bench_ram LOCATION '`+dir+`'`); err != nil {
		return err
	}
	rows := b.scale(300_000, 50_000)
	variants := []struct{ name, kind, where string }{
		{"disk, UNLOGGED", "UNLOGGED", ""},
		{"disk, LOGGED", "", ""},
		{"RAM, UNLOGGED", "UNLOGGED", "TABLESPACE bench_ram"},
		{"RAM, LOGGED", "", "TABLESPACE bench_ram"},
	}
	read, written := func(i int) string { return fmt.Sprintf("ram_read_%d", i) }, func(i int) string { return fmt.Sprintf("ram_write_%d", i) }
	b.Progress("loading %d rows, %d times", rows, len(variants))
	for i, v := range variants {
		// Indexes go where default_tablespace says, not where their table is.
		if err := d.run(ctx, fmt.Sprintf(`SET default_tablespace = '%s'`, map[bool]string{true: "bench_ram"}[v.where != ""])); err != nil {
			return err
		}
		if err := fillSourceTable(ctx, d, v.kind, read(i), v.where, rows); err != nil {
			return err
		}
		if err := d.run(ctx, fmt.Sprintf(sourceTable, v.kind, written(i), v.where)); err != nil {
			return err
		}
	}
	if err := onTmpfs(ctx, d); err != nil {
		return err
	}
	seconds := b.scale(2, 1)
	scripts := map[string]func(int) string{
		ramReads: func(i int) string { return readScript(read(i), rows) },
		ramWrites: func(i int) string {
			return "\\set n :n + 1\nINSERT INTO " + written(i) + ` (key, value, inserted_at) VALUES ('key:' || :client_id || ':' || :n, '{"theme": "dark"}', now());`
		},
	}
	for _, group := range []string{ramReads, ramWrites} {
		err := b.turns(len(variants), func(i int) error {
			if err := d.run(ctx, "TRUNCATE "+written(i), "CHECKPOINT"); err != nil {
				return err
			}
			a, err := b.pgbench(ctx, pgbenchRun{"ram", scripts[group](i), 10, seconds, ""})
			if err != nil {
				return err
			}
			r.Add(group, ramCase, variants[i].name, meanLatency, ms, a.latency)
			r.Add(group, ramCase, variants[i].name, throughput, "TPS", a.tps)
			b.Progress("%-40s %-16s %.3f ms  %7.0f TPS", group, variants[i].name, a.latency, a.tps)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := sameSettings(ctx, d); err != nil {
		return err
	}
	r.Set("tables", fmt.Sprintf("%d rows, tables and indexes on tmpfs under %s; the write-ahead log stays on the disk", rows, ramRoot))
	v := func(group string, i int, metric string) float64 {
		return r.Value(group, ramCase, variants[i].name, metric)
	}
	ratio := func(group string, i int) []float64 {
		return r.RatioOf(group, ramCase, throughput, variants[i+2].name, variants[i].name)
	}
	r.Verdicts = append(r.Verdicts, result.Verdict{
		Claim: "A tablespace in RAM gains nothing", Source: "0.652 ms, 15,329 TPS in RAM; 0.679 ms, 14,724 TPS on the disk (reads, UNLOGGED, 10 clients)",
		Ours: fmt.Sprintf("reads: %.3f ms, %.0f TPS in RAM; %.3f ms, %.0f TPS on the disk. Writes, RAM to disk: %.2f UNLOGGED, %.2f LOGGED",
			v(ramReads, 2, meanLatency), v(ramReads, 2, throughput), v(ramReads, 0, meanLatency), v(ramReads, 0, throughput), result.Median(ratio(ramWrites, 0)), result.Median(ratio(ramWrites, 1))),
		Bar:  "RAM at most 1.15 times the disk in reads and 1.3 times in writes",
		Word: result.All(result.AtMost(ratio(ramReads, 0), 1.15), result.AtMost(ratio(ramWrites, 0), 1.3), result.AtMost(ratio(ramWrites, 1), 1.3)),
		Sentence: "What is read is in memory already, in shared_buffers or the system's cache, and what a LOGGED write waits for is the log, which stays on the disk." +
			" After a restart of the machine the tablespace is gone, and PostgreSQL does not forgive that: do not do it.",
	})
	return nil
}

const ramRoot, ramCase = "/dev/shm", "pgbench"

// ramDir makes a folder on a RAM disk.
func ramDir() (string, error) {
	const tmpfsMagic = 0x01021994
	var fs syscall.Statfs_t
	if err := syscall.Statfs(ramRoot, &fs); err != nil {
		return "", fmt.Errorf("there is no RAM disk at %s: %w", ramRoot, err)
	}
	if int64(fs.Type) != tmpfsMagic {
		return "", fmt.Errorf("%s is not a RAM disk (tmpfs)", ramRoot)
	}
	return os.MkdirTemp(ramRoot, "howdah-bench-")
}

// giveToPostgres makes the server's user the owner of a folder.
func giveToPostgres(ctx context.Context, d *db, dir string) error {
	var data string
	if err := d.QueryRow(ctx, `SELECT current_setting('data_directory')`).Scan(&data); err != nil {
		return err
	}
	info, err := os.Stat(data)
	if err != nil {
		return err
	}
	owner := info.Sys().(*syscall.Stat_t)
	return os.Chown(dir, int(owner.Uid), int(owner.Gid))
}

// onTmpfs holds where the tables and their indexes are against what their
// names say.
func onTmpfs(ctx context.Context, d *db) error {
	var inRAM, onDisk int
	err := d.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE t.spcname = 'bench_ram'), count(*) FILTER (WHERE t.spcname IS NULL)
		FROM pg_class AS c LEFT JOIN pg_tablespace AS t ON t.oid = c.reltablespace
		WHERE c.relname ~ '^ram_(read|write)_' AND c.relkind IN ('r', 'i')`).Scan(&inRAM, &onDisk)
	if err == nil && (inRAM != onDisk || inRAM != 12) {
		err = fmt.Errorf("%d tables and indexes are in RAM and %d on the disk, not 12 each", inRAM, onDisk)
	}
	return err
}
