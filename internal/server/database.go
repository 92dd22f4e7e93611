package server

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/embedded"
	"github.com/howdah/howdah/internal/engine"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/pgurl"
	"github.com/howdah/howdah/migrate"
)

// database is the PostgreSQL that is served from: somebody's, or one that was
// started for this server.
type database struct {
	db       *howdah.DB
	embedded *embedded.Server // nil: somebody's
	process  *process

	stopUpkeep context.CancelFunc
	upkeep     sync.WaitGroup
}

func openDatabase(ctx context.Context, c *Config) (*database, error) {
	d := new(database)
	databaseURL := c.DatabaseURL
	if databaseURL == "" {
		server, err := embedded.Start(ctx, embedded.Config{
			DataDir:  c.DataDir,
			CacheDir: c.CacheDir,
			Logger:   c.Logger,
			Progress: c.Progress,
		})
		if err != nil {
			return nil, fmt.Errorf("cannot start the embedded PostgreSQL: %w", err)
		}
		d.embedded = server
		databaseURL = server.URL()
		c.Logger.Info("embedded PostgreSQL is running", "version", server.Major(), "url", server.URL())
	}
	if err := d.open(ctx, databaseURL, c); err != nil {
		return nil, errors.Join(err, d.closeWithin(c))
	}
	return d, nil
}

func (d *database) open(ctx context.Context, databaseURL string, c *Config) error {
	if d.embedded == nil {
		c.Progress(embedded.Progress{Doing: "connecting to PostgreSQL"})
	}
	if d.embedded != nil || c.Migrate {
		c.Progress(embedded.Progress{Doing: "bringing the schema up to date"})
		if err := bringUpToDate(ctx, databaseURL, c); err != nil {
			return err
		}
	}
	db, err := howdah.Open(ctx, databaseURL, &howdah.Options{
		MaxConns:          c.MaxConns,
		Timeout:           c.Timeout,
		MaxValueBytes:     c.MaxRequestBytes,
		Pooler:            howdah.Pooler(c.Pooler),
		ListenURL:         c.ListenURL,
		MaxReplicationLag: c.MaxReplicationLag,
		Near:              c.Near.options(),
		SlowCall:          c.SlowCall,
		MaskKeys:          c.Console.Mask,
		Logger:            c.Logger,
	})
	if err != nil {
		return explain(err, c)
	}
	d.db = db
	named, err := observe.NewNamed(c.MetricsPrefixes)
	if err != nil {
		return err // which the check of the settings has found before
	}
	(*core.DB)(db).Observe(engine.Observed{
		Removals: observe.NewRemovals(c.Removals), Prefixes: observe.NewPrefixes(c.PrefixSample), Named: named,
	})
	if d.embedded == nil {
		to := db.Pool().Config().ConnConfig // without the password
		c.Logger.Info("connected to PostgreSQL", "host", to.Host, "port", to.Port, "database", to.Database, "user", to.User)
	}
	if err := d.prepareLogs(ctx, c); err != nil {
		return err
	}
	d.process = newProcess((*core.DB)(db), c)
	d.runUpkeep(c)
	return nil
}

// runUpkeep lets this process take its part in removing what has expired.
func (d *database) runUpkeep(c *Config) {
	var ctx context.Context
	ctx, d.stopUpkeep = context.WithCancel(context.Background())
	d.upkeep.Go(func() {
		if err := d.db.Run(ctx); err != nil {
			c.Logger.Error("upkeep has ended: expired entries will stay until another process removes them", "error", err)
		}
	})
	d.upkeep.Go(func() { d.process.run(ctx) })
	// A subscription that is confirmed takes the messages of other servers too.
	_ = (*core.DB)(d.db).Bus().Await(ctx)
}

// bringUpToDate migrates over a connection of its own, which works behind
// every pooler.
func bringUpToDate(ctx context.Context, databaseURL string, c *Config) error {
	config, err := pgurl.Config(databaseURL)
	if err != nil {
		return fmt.Errorf("the database URL is not valid (want postgres://user@host:5432/database): %w", err)
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fault.Unreachable(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	result, err := migrate.Up(ctx, conn, migrate.Options{Logger: c.Logger})
	if err != nil {
		return fmt.Errorf("cannot bring the schema up to date: %w", err)
	}
	if len(result.Applied) > 0 || result.FunctionsReplaced {
		c.Logger.Info("schema is up to date", "from", result.From, "to", result.To)
	}
	return nil
}

// explain adds what to do about an error of opening to what it says.
func explain(err error, c *Config) error {
	switch {
	case errors.Is(err, howdah.ErrSchemaMissing):
		return fmt.Errorf("the database has no Howdah schema, or one too old for this program: run \"howdah migrate --database-url ...\", or serve with %s", c.option("migrate"))
	case errors.Is(err, howdah.ErrSchemaTooNew):
		return errors.New("the schema in the database is newer than this program can work with: upgrade the program")
	}
	return err
}

// ended is closed when the embedded PostgreSQL has exited; nil without one.
func (d *database) ended() <-chan struct{} {
	if d.embedded == nil {
		return nil
	}
	return d.embedded.Done()
}

func (d *database) closeWithin(c *Config) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.ShutdownTimeout)
	defer cancel()
	return d.close(ctx)
}

func (d *database) close(ctx context.Context) error {
	var err error
	if d.db != nil {
		d.stopUpkeep()
		d.upkeep.Wait()
		err = d.db.Close()
	}
	if d.embedded != nil {
		if stopErr := d.embedded.Stop(ctx); stopErr != nil {
			err = errors.Join(err, fmt.Errorf("the embedded PostgreSQL did not stop in order: %w", stopErr))
		}
	}
	return err
}
