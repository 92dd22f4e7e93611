package pgtest

import (
	"context"

	"github.com/howdah/howdah/migrate"
	"github.com/jackc/pgx/v5"
)

// applySchema installs the schema in an empty database.
func applySchema(ctx context.Context, databaseURL string) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = migrate.Up(ctx, conn, migrate.Options{})
	return err
}
