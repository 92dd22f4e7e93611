package experiment

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
	"github.com/howdah/howdah/bench/internal/workload"
)

// indexKind asks what the keys of a cache should be indexed by.
func indexKind() Experiment {
	return Experiment{
		Name:  "index-kind",
		Title: "What to index: the key, a hash of it, a hash index, a covering index",
		Needs: []service.Program{service.Postgres},
		Run:   runIndexKind,
	}
}

const indexReads, indexWrites, indexSizes, indexCase = "Reads in batches of 256 keys", "Upserts in batches of 256 keys", "Size of the indexes", "one connection"

// indexVariant is a table with one way to find a row. read takes the
// identities of a batch; write takes them with keys and values.
type indexVariant struct {
	name   string
	create []string
	read   string
	write  string // "": this index cannot carry an upsert
	ids    func(keys []string) any
}

func indexVariants() []indexVariant {
	const columns = `key bytea NOT NULL, expires_at timestamptz NOT NULL DEFAULT 'infinity', value bytea NOT NULL`
	byKey := func(name string, index ...string) indexVariant {
		return indexVariant{
			name:   name,
			create: append([]string{`CREATE UNLOGGED TABLE index_kind (` + columns + `) WITH (fillfactor = 85)`}, index...),
			read:   `SELECT key, value FROM index_kind WHERE key = ANY ($1::bytea[]) AND expires_at > now()`,
			write: `INSERT INTO index_kind (key, value) SELECT k, v FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS u (k, _, v)
				ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
			ids: func(keys []string) any { return bytesOf(keys) },
		}
	}
	byHash := func(name, kind string, ids func([]string) any) indexVariant {
		return indexVariant{
			name:   name,
			create: []string{`CREATE UNLOGGED TABLE index_kind (hash ` + kind + ` PRIMARY KEY, ` + columns + `) WITH (fillfactor = 85)`},
			read:   `SELECT key, value FROM index_kind WHERE hash = ANY ($1::` + kind + `[]) AND expires_at > now()`,
			write: `INSERT INTO index_kind (hash, key, value) SELECT h, k, v FROM unnest($1::` + kind + `[], $2::bytea[], $3::bytea[]) AS u (h, k, v)
				ON CONFLICT (hash) DO UPDATE SET key = excluded.key, value = excluded.value`,
			ids: ids,
		}
	}
	hashIndex := byKey("hash index on the key", `CREATE INDEX ON index_kind USING hash (key)`)
	hashIndex.write = "" // it cannot be unique
	return []indexVariant{
		byHash("btree on a 64-bit hash", "bigint", func(keys []string) any { return hashes64(keys) }),
		byHash("btree on a 128-bit hash (uuid)", "uuid", func(keys []string) any { return hashes128(keys) }),
		byKey("btree on the key (bytea)", `CREATE UNIQUE INDEX ON index_kind (key)`),
		byKey("covering btree on the key", `CREATE UNIQUE INDEX ON index_kind (key) INCLUDE (expires_at, value)`),
		hashIndex,
	}
}

// indexBatch is how many keys one statement reads or writes.
const indexBatch = 256

func runIndexKind(ctx context.Context, b *Bench, r *result.Result) error {
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	if err := d.run(ctx, "SET enable_seqscan = off", "SET plan_cache_mode = force_generic_plan"); err != nil {
		return err
	}
	variants := indexVariants()
	rows, batches := b.Workload.Keys/indexBatch*indexBatch, b.scale(1500, 150)
	err = b.turns(len(variants), func(i int) error {
		run := indexRun{indexVariant: variants[i], b: b, d: d, src: workload.NewSources(b.Workload, 1)[0], rows: rows, batches: batches}
		if err := run.measure(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", variants[i].name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.Set("table", fmt.Sprintf("%d rows, UNLOGGED, %s, %d batches a round", rows, b.Workload, batches))
	indexVerdicts(r, variants)
	return nil
}

// indexRun is the turn of one variant.
type indexRun struct {
	indexVariant
	b             *Bench
	d             *db
	src           *workload.Source
	rows, batches int
}

func (v indexRun) measure(ctx context.Context, r *result.Result) error {
	if err := v.fill(ctx); err != nil {
		return err
	}
	var indexes int64
	if err := v.d.QueryRow(ctx, `SELECT pg_indexes_size('index_kind')`).Scan(&indexes); err != nil {
		return err
	}
	read, err := v.b.perSecond(v.batches*indexBatch, func() error { return v.readAll(ctx) })
	if err != nil {
		return err
	}
	r.Add(indexReads, indexCase, v.name, throughput, "keys/s", read)
	r.Add(indexSizes, fmt.Sprintf("%d keys", v.rows), v.name, "size", "MB", float64(indexes)/(1<<20))
	if v.write == "" {
		return nil
	}
	written, err := v.b.perSecond(v.batches*indexBatch, func() error { return v.writeAll(ctx) })
	if err != nil {
		return err
	}
	r.Add(indexWrites, indexCase, v.name, throughput, "keys/s", written)
	v.b.Progress("%-32s %8.0f keys/s read, %8.0f keys/s written", v.name, read, written)
	return nil
}

// fill makes the table anew, with all rows.
func (v indexRun) fill(ctx context.Context) error {
	if err := v.d.run(ctx, append([]string{`DROP TABLE IF EXISTS index_kind`}, v.create...)...); err != nil {
		return err
	}
	if err := v.d.DeallocateAll(ctx); err != nil {
		return err
	}
	sql := v.write
	if sql == "" {
		sql = `INSERT INTO index_kind (key, value) SELECT k, v FROM unnest($1::bytea[], $2::bytea[], $3::bytea[]) AS u (k, _, v)`
	}
	for at := 0; at < v.rows; at += indexBatch {
		keys, values := batchOf(v.src, indexBatch, func(j int) int { return at + j })
		if _, err := v.d.Exec(ctx, sql, v.ids(keys), bytesOf(keys), values); err != nil {
			return err
		}
	}
	return v.d.run(ctx, "VACUUM ANALYZE index_kind", "CHECKPOINT")
}

// choose picks the distinct keys of batch n: a stride that shares no factor
// with rows.
func (v indexRun) choose(n int) func(int) int {
	start := v.src.Next()
	return func(j int) int { return (start + n + j*7919) % v.rows }
}

func (v indexRun) readAll(ctx context.Context) error {
	for n := range v.batches {
		keys, _ := batchOf(v.src, indexBatch, v.choose(n))
		rows, err := v.d.Query(ctx, v.read, v.ids(keys))
		if err != nil {
			return err
		}
		found := 0
		for rows.Next() {
			found++
		}
		if rows.Err() != nil {
			return rows.Err()
		}
		if found != indexBatch {
			return fmt.Errorf("%d of %d keys were found", found, indexBatch)
		}
	}
	return nil
}

func (v indexRun) writeAll(ctx context.Context) error {
	for n := range v.batches {
		keys, values := batchOf(v.src, indexBatch, v.choose(n))
		if _, err := v.d.Exec(ctx, v.write, v.ids(keys), bytesOf(keys), values); err != nil {
			return err
		}
	}
	return nil
}

// indexVerdicts judges by the order of indexVariants.
func indexVerdicts(r *result.Result, variants []indexVariant) {
	at := func(group string, i int) float64 { return r.Value(group, indexCase, variants[i].name, throughput) }
	ratio := func(group string, of, to int) []float64 {
		return r.RatioOf(group, indexCase, throughput, variants[of].name, variants[to].name)
	}
	r.Verdicts = append(r.Verdicts,
		result.Verdict{
			Claim: "A hash index, or one that covers the value, would be faster", Source: "open idea, no figure",
			Ours: fmt.Sprintf("reads against the btree on the key: hash index %.2f, covering %.2f; upserts with the covering index %.2f",
				at(indexReads, 4)/at(indexReads, 2), at(indexReads, 3)/at(indexReads, 2), at(indexWrites, 3)/at(indexWrites, 2)),
			Bar:      "at least 1.1 times Howdah's index: the hash index in reads, the covering index in reads and in upserts",
			Word:     result.Agree(result.AtLeast(ratio(indexReads, 4, 0), 1.1), result.AtLeast(ratio(indexReads, 3, 0), 1.1), result.AtLeast(ratio(indexWrites, 3, 0), 1.1)),
			Sentence: "A covering index must be written with every value, which forbids heap-only updates; a hash index cannot be unique, so it carries no upsert.",
		},
		result.Verdict{
			Claim: "A short hash of the key makes a better index than the key", Source: "Howdah's own choice",
			Ours: fmt.Sprintf("64-bit hash against the key: %.2f for reads, %.2f for upserts; against uuid %.2f and %.2f",
				at(indexReads, 0)/at(indexReads, 2), at(indexWrites, 0)/at(indexWrites, 2), at(indexReads, 0)/at(indexReads, 1), at(indexWrites, 0)/at(indexWrites, 1)),
			Bar:      "the 64-bit hash at least 1 times the key, in reads and in upserts",
			Word:     result.Agree(result.AtLeast(ratio(indexReads, 0, 2), 1), result.AtLeast(ratio(indexWrites, 0, 2), 1)),
			Sentence: "Comparing integers costs less than comparing byte strings, and long keys cost no more than short ones.",
		})
}

// perSecond times work on n things.
func (b *Bench) perSecond(n int, work func() error) (float64, error) {
	start := time.Now()
	err := work()
	return float64(n) / time.Since(start).Seconds(), err
}

func batchOf(src *workload.Source, n int, choose func(int) int) (keys []string, values [][]byte) {
	for j := range n {
		i := choose(j)
		keys = append(keys, src.Key(i))
		values = append(values, append([]byte(nil), src.Value(i)...))
	}
	return keys, values
}

func bytesOf(keys []string) [][]byte {
	out := make([][]byte, len(keys))
	for i, k := range keys {
		out[i] = []byte(k)
	}
	return out
}

func hashes64(keys []string) []int64 {
	out := make([]int64, len(keys))
	for i, k := range keys {
		sum := sha256.Sum256([]byte(k))
		out[i] = int64(binary.BigEndian.Uint64(sum[:8]) >> 1)
	}
	return out
}

func hashes128(keys []string) [][16]byte {
	out := make([][16]byte, len(keys))
	for i, k := range keys {
		sum := sha256.Sum256([]byte(k))
		copy(out[i][:], sum[:])
	}
	return out
}
