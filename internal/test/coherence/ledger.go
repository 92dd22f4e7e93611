package coherence

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/howdah/howdah/schema"
)

// TagSetting is the setting in which a session says which write it is about to
// make: Write.Tag, in decimal.
const TagSetting = "coherence.tag"

// installLedger makes the table and the function of the trigger. The table is
// LOGGED, and each of its transactions is flushed, so a crash leaves it whole.
const installLedger = `
CREATE SCHEMA coherence;
CREATE TABLE coherence.ledger (
    number  bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cache   integer     NOT NULL,
    key     bytea,      -- NULL: all of the cache
    old     bytea,      -- NULL: absent
    new     bytea,      -- likewise
    version bigint,
    tag     bigint,
    at      timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE FUNCTION coherence.note() RETURNS trigger
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    tag CONSTANT bigint := nullif(current_setting('coherence.tag', true), '')::bigint;
    old_value bytea;
    new_value bytea;
BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO coherence.ledger (cache, tag) VALUES (TG_ARGV[0]::integer, tag);
        RETURN NULL;
    END IF;
    -- A row that never lived holds the place of a key that is absent.
    IF TG_OP <> 'INSERT' AND OLD.expires_at > '-infinity' THEN
        old_value := OLD.value;
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.expires_at > '-infinity' THEN
        new_value := NEW.value;
    END IF;
    IF old_value IS NOT NULL OR new_value IS NOT NULL THEN
        INSERT INTO coherence.ledger (cache, key, old, new, version, tag)
        VALUES (TG_ARGV[0]::integer, coalesce(NEW.key, OLD.key), old_value, new_value, NEW.version, tag);
    END IF;
    RETURN NULL;
END
$$;`

// querier is a connection or a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// InstallLedger makes the ledger, and the owner of the caches its owner.
func InstallLedger(ctx context.Context, q querier) error {
	_, err := q.Exec(ctx, installLedger)
	return err
}

// Attach lets the ledger know of the changes of a cache, which it calls by a
// number. A cache that is dropped and made again is attached again, in the same
// transaction, with NoteDropped.
func Attach(ctx context.Context, q querier, number int, cache string) error {
	var id int32
	if err := q.QueryRow(ctx, "SELECT id FROM howdah_internal.cache WHERE name = $1::text", cache).Scan(&id); err != nil {
		return err
	}
	table := schema.TableName(id)
	// An update that notes a read changes no state.
	for name, event := range map[string]string{
		"coherence_rows":     "AFTER INSERT OR DELETE ON %s FOR EACH ROW",
		"coherence_updates":  "AFTER UPDATE ON %s FOR EACH ROW WHEN (OLD.value IS DISTINCT FROM NEW.value OR OLD.version <> NEW.version)",
		"coherence_truncate": "AFTER TRUNCATE ON %s FOR EACH STATEMENT",
	} {
		sql := fmt.Sprintf("CREATE TRIGGER %s "+event+" EXECUTE FUNCTION coherence.note('%d')", name, table, number)
		if _, err := q.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// NoteDropped notes that a cache lost all its entries with its table, whose
// lock the transaction holds.
func NoteDropped(ctx context.Context, q querier, number int) error {
	_, err := q.Exec(ctx, "INSERT INTO coherence.ledger (cache, tag) VALUES ($1, nullif(current_setting($2, true), '')::bigint)", number, TagSetting)
	return err
}

// ReadLedger returns what has been committed.
func ReadLedger(ctx context.Context, conn *pgx.Conn) ([]Change, error) {
	rows, err := conn.Query(ctx, `
		SELECT number, cache, key, old, new, coalesce(version, 0), coalesce(tag, 0), (extract(epoch FROM at) * 1000000)::bigint
		FROM coherence.ledger ORDER BY number`)
	if err != nil {
		return nil, err
	}
	var changes []Change
	var c Change
	var key, before, after []byte
	_, err = pgx.ForEachRow(rows, []any{&c.Number, &c.Cache, &key, &before, &after, &c.Version, &c.Tag, &c.At}, func() (err error) {
		c.Key = All
		if key != nil {
			if c.Key, err = keyNumber(string(key)); err != nil {
				return err
			}
		}
		if c.Old, err = valueOrAbsent(before); err != nil {
			return err
		}
		if c.New, err = valueOrAbsent(after); err != nil {
			return err
		}
		changes = append(changes, c)
		return nil
	})
	return changes, err
}

func valueOrAbsent(value []byte) (int64, error) {
	if value == nil {
		return Absent, nil
	}
	return ParseValue(value)
}
