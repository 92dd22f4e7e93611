package pgtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/jackc/pgx/v5"
)

// applySchema installs the schema in an empty database.
func applySchema(ctx context.Context, databaseURL string) error {
	_, here, _, _ := runtime.Caller(0)
	root := filepath.Join(filepath.Dir(here), "..", "..", "schema")
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS howdah"); err != nil {
		return err
	}
	for _, folder := range []string{"migrations", "functions"} {
		files, _ := filepath.Glob(filepath.Join(root, folder, "*.sql"))
		slices.Sort(files)
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			if _, err := conn.Exec(ctx, string(text)); err != nil {
				return fmt.Errorf("%s: %w", filepath.Base(f), err)
			}
		}
	}
	return nil
}
