package pgtest

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
)

// identifiers that may be calls of functions.
var call = regexp.MustCompile(`\b([a-z_][a-z0-9_]*)\(`)

// Decoys fills the schema public of a database with operators and functions
// that have the names of PostgreSQL's own and fit argument types that those
// have to convert: whoever may create things there could have an unqualified
// expression call them. Each raises an error. Functions get the names that the
// files of the patterns call.
func Decoys(t testing.TB, databaseURL string, patterns ...string) {
	t.Helper()
	var names []string
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("pgtest: no file matches %s (%v)", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("pgtest: %v", err)
			}
			for _, match := range call.FindAllSubmatch(text, -1) {
				names = append(names, string(match[1]))
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SELECT set_config('howdah.decoys', array_to_string($1::text[], ','), false)", names); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	if _, err := conn.Exec(ctx, plantDecoys); err != nil {
		t.Fatalf("pgtest: cannot plant decoys: %v", err)
	}
}

const plantDecoys = `
DO $plant$
DECLARE
    types CONSTANT text[] := '{smallint,integer,bigint,numeric,real,double precision,text,name,interval,timestamptz,bytea,boolean,regclass,oid,jsonb}';
    body  CONSTANT text := 'LANGUAGE plpgsql AS $$ BEGIN RAISE ''a decoy was called: %I(%s)''; END $$';
    a     text;
    b     text;
    op    text;
    f     record;
BEGIN
    FOREACH a IN ARRAY types LOOP
        FOREACH b IN ARRAY types LOOP
            EXECUTE format('CREATE FUNCTION public.decoy(%s, %s) RETURNS boolean %s', a, b, format(body, 'operator', a || ', ' || b));
            FOREACH op IN ARRAY '{+,-,*,/,%,<,<=,=,<>,>=,>,||,&,~}'::text[] LOOP
                EXECUTE format('CREATE OPERATOR public.%s (FUNCTION = public.decoy, LEFTARG = %s, RIGHTARG = %s)', op, a, b);
            END LOOP;
        END LOOP;
    END LOOP;
    FOR f IN
        SELECT DISTINCT quote_ident(p.proname) AS name, p.pronargs AS args
        FROM pg_proc AS p
        WHERE p.pronamespace = 'pg_catalog'::regnamespace
          AND p.proname = ANY (string_to_array(current_setting('howdah.decoys'), ','))
    LOOP
        FOREACH a IN ARRAY types LOOP
            IF f.args = 1 THEN
                EXECUTE format('CREATE FUNCTION public.%s(%s) RETURNS boolean %s', f.name, a, format(body, f.name, a));
            ELSIF f.args = 2 THEN
                FOREACH b IN ARRAY types LOOP
                    EXECUTE format('CREATE FUNCTION public.%s(%s, %s) RETURNS boolean %s', f.name, a, b, format(body, f.name, a || ', ' || b));
                END LOOP;
            ELSIF f.args = 3 THEN
                EXECUTE format('CREATE FUNCTION public.%s(text, %s, integer) RETURNS boolean %s', f.name, a, format(body, f.name, 'text, ' || a));
                EXECUTE format('CREATE FUNCTION public.%s(bytea, %s, integer) RETURNS boolean %s', f.name, a, format(body, f.name, 'bytea, ' || a));
            END IF;
        END LOOP;
    END LOOP;
END
$plant$`
