package experiment

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/howdah/howdah/bench/internal/result"
	"github.com/howdah/howdah/bench/internal/service"
)

// columnTypes asks what the types of payload and expiry cost.
func columnTypes() Experiment {
	return Experiment{
		Name:  "column-types",
		Title: "Types of the payload and of the expiry, and constraints",
		Needs: []service.Program{service.Postgres},
		Run:   runColumnTypes,
	}
}

const typeInserts, typeReads, typeCase = "Inserts of one row", "Reads of one row", "one connection"

func runColumnTypes(ctx context.Context, b *Bench, r *result.Result) error {
	n := b.scale(20_000, 1500)
	d, err := b.sql(ctx)
	if err != nil {
		return err
	}
	const soon = "now() + interval '30 min'"
	variants := []struct {
		name, payload, expiry, later, live string
	}{
		{"text, timestamptz", "text NOT NULL", "timestamptz", soon, "expires_at > now()"},
		{"bytea, timestamptz", "bytea NOT NULL", "timestamptz", soon, "expires_at > now()"},
		{"json, timestamptz", "json NOT NULL", "timestamptz", soon, "expires_at > now()"},
		{"jsonb, timestamptz", "jsonb NOT NULL", "timestamptz", soon, "expires_at > now()"},
		{"text, timestamp", "text NOT NULL", "timestamp", soon, "expires_at > now()"},
		{"text, epoch in bigint", "text NOT NULL", "bigint", "(extract(epoch FROM now()) + 1800)::bigint", "expires_at > extract(epoch FROM now())::bigint"},
		{"varchar(1000) with a CHECK, timestamptz", "varchar(1000) NOT NULL CHECK (length(payload) > 0)", "timestamptz", soon, "expires_at > now()"},
	}
	document := sessionDocument()
	err = b.turns(len(variants), func(i int) error {
		v := variants[i]
		err := d.run(ctx, `DROP TABLE IF EXISTS types`,
			fmt.Sprintf(`CREATE UNLOGGED TABLE types (id bigint PRIMARY KEY, payload %s, expires_at %s NOT NULL)`, v.payload, v.expiry))
		if err != nil {
			return err
		}
		// The statements' texts are the same, but the types behind them are not.
		if err := d.DeallocateAll(ctx); err != nil {
			return err
		}
		insert := fmt.Sprintf(`INSERT INTO types VALUES ($1, $2, %s)`, v.later)
		read := fmt.Sprintf(`SELECT payload FROM types WHERE id = $1 AND %s`, v.live)
		var payload any = document
		if strings.HasPrefix(v.payload, "bytea") {
			payload = []byte(document)
		}
		start := time.Now()
		for id := range n {
			if _, err := d.Exec(ctx, insert, id, payload); err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
		}
		inserted := time.Since(start)
		if err := d.run(ctx, "VACUUM ANALYZE types"); err != nil {
			return err
		}
		start = time.Now()
		for id := range n {
			var got []byte
			if err := d.QueryRow(ctx, read, id).Scan(&got); err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
		}
		readTime := time.Since(start)
		size, err := d.megabytes(ctx, "types")
		if err != nil {
			return err
		}
		r.Add(typeInserts, typeCase, v.name, "time", "us", inserted.Seconds()*1e6/float64(n))
		r.Add(typeInserts, typeCase, v.name, "size", "bytes a row", size*(1<<20)/float64(n))
		r.Add(typeReads, typeCase, v.name, "time", "us", readTime.Seconds()*1e6/float64(n))
		b.Progress("%-42s insert %.1f us, read %.1f us", v.name, inserted.Seconds()*1e6/float64(n), readTime.Seconds()*1e6/float64(n))
		return nil
	})
	if err != nil {
		return err
	}
	r.Set("rows", fmt.Sprintf("%d, a session document of %d bytes, UNLOGGED, Unix socket", n, len(document)))
	at := func(group string, i int) float64 { return r.Value(group, typeCase, variants[i].name, "time") }
	ratio := func(group string, i int) []float64 {
		return r.RatioOf(group, typeCase, "time", variants[i].name, variants[0].name)
	}
	r.Verdicts = append(r.Verdicts,
		result.Verdict{
			Claim: "TEXT for the payload, not JSON, JSONB or BYTEA", Source: "no figure",
			Ours: fmt.Sprintf("against text, insert/read: bytea %.2f/%.2f, json %.2f/%.2f, jsonb %.2f/%.2f",
				at(typeInserts, 1)/at(typeInserts, 0), at(typeReads, 1)/at(typeReads, 0),
				at(typeInserts, 2)/at(typeInserts, 0), at(typeReads, 2)/at(typeReads, 0),
				at(typeInserts, 3)/at(typeInserts, 0), at(typeReads, 3)/at(typeReads, 0)),
			Bar:      "an insert of jsonb, and one of bytea, takes at least 1.02 times that of text",
			Word:     result.Agree(result.AtLeast(ratio(typeInserts, 3), 1.02), result.AtLeast(ratio(typeInserts, 1), 1.02)),
			Sentence: "In the binary protocol bytea costs what text does and holds any bytes; json and jsonb pay for parsing what a cache never looks into.",
		},
		result.Verdict{
			Claim: "TIMESTAMP, not TIMESTAMPTZ, not an epoch in BIGINT; no varchar(n), no constraints", Source: "no figure",
			Ours: fmt.Sprintf("against timestamptz, insert/read: timestamp %.2f/%.2f, bigint %.2f/%.2f; varchar with CHECK %.2f/%.2f",
				at(typeInserts, 4)/at(typeInserts, 0), at(typeReads, 4)/at(typeReads, 0),
				at(typeInserts, 5)/at(typeInserts, 0), at(typeReads, 5)/at(typeReads, 0),
				at(typeInserts, 6)/at(typeInserts, 0), at(typeReads, 6)/at(typeReads, 0)),
			Bar:      "an insert with timestamp takes at most 0.95 times that with timestamptz",
			Word:     result.AtMost(ratio(typeInserts, 4), 0.95),
			Sentence: "All three are eight bytes; a timestamp compared with now() depends on the session's time zone, so timestamptz is the one that is right.",
		})
	return nil
}

// sessionDocument is about 250 bytes of JSON.
func sessionDocument() string {
	return `{"user":"8c1f6c2e-0e9d-4b57-9d0e-3b1f7f6c2a10","roles":["reader","editor"],"locale":"en-GB","csrf":"` +
		strings.Repeat("5d41402a", 8) + `","cart":[{"sku":"A-1001","n":2},{"sku":"B-2002","n":1}],"theme":"dark"}`
}
