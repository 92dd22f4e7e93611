package pgtest

import (
	"context"

	"github.com/howdah/howdah/migrate"
	"github.com/jackc/pgx/v5"
)

// applySchema installs the schema in an empty database, with so many partitions; 0: without.
func applySchema(ctx context.Context, databaseURL string, partitions int) error {
	conn, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = migrate.Up(ctx, conn, migrate.Options{Partitions: partitions})
	return err
}
