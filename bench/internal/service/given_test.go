package service

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestCheckURLs(t *testing.T) {
	for _, good := range []string{"redis://localhost", "redis://me:secret@localhost:6380/3", "rediss://localhost:6379"} {
		if err := CheckRedisURL(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"localhost:6379", "redis://", "redis:///1", "http://localhost", "redis://me:secret@local host", "redis://localhost/many"} {
		if err := CheckRedisURL(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if err := CheckDatabaseURL("postgres://me:secret@localhost/db?application_name=x"); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"localhost/db", "host=localhost", "postgres://me:secret@localhost:port/db", "postgres://me:secret@localhost/db?sslmode=perhaps"} {
		if err := CheckDatabaseURL(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestWithOptions(t *testing.T) {
	got, err := WithOptions("postgres://me@/db?host=%2Ftmp%2Fx&options=-cjit%3Doff", "-csearch_path=a")
	if err != nil || got != "postgres://me@/db?host=%2Ftmp%2Fx&options=-cjit%3Doff%20-csearch_path%3Da" {
		t.Errorf("%q, %v", got, err)
	}
}

// A database that was given keeps its tables, whatever their names are, and
// one that holds a Howdah is not touched.
func TestUsePostgres(t *testing.T) {
	ctx := t.Context()
	dir, err := os.MkdirTemp("", "howdah-bench-") // which a PostgreSQL of root's can enter
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	own, err := StartPostgres(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer own.Stop()
	if _, err := UsePostgres(ctx, own.URL); err == nil || !strings.Contains(err.Error(), "empty database") {
		t.Errorf("a database with a Howdah: %v", err)
	}
	empty := strings.Replace(own.SuperURL(), "/howdah?", "/empty?", 1)
	run(t, own.SuperURL(), `CREATE DATABASE empty`)
	run(t, empty, `CREATE TABLE types AS SELECT 1 AS one`)
	for range 2 { // the second finds what the first left
		s, err := UsePostgres(ctx, empty)
		if err != nil {
			t.Fatal(err)
		}
		run(t, s.URL, `DROP TABLE IF EXISTS types`, `CREATE TABLE types (two int)`, `SELECT howdah.create_cache('x')`)
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	run(t, empty, `SELECT 1 / count(*) FROM types`, `CREATE SCHEMA howdah`, `CREATE SCHEMA howdah_internal`, `CREATE SCHEMA howdah_bench`)
}

func run(t *testing.T, url string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}
