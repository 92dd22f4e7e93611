package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/howdah/howdah/internal/stat"
	"github.com/howdah/howdah/migrate"
)

// statistics is what the flags of "howdah stat" ask for.
type statistics struct {
	target   target
	metrics  []string
	token    string
	interval durationFlag
	once     bool
	output   outputFormat
}

// defaultInterval is longer than PostgreSQL keeps counts to itself: its
// processes report them once a second.
const defaultInterval = 2 * time.Second

func newStat() *cobra.Command {
	var s statistics
	cmd := &cobra.Command{
		Use:   "stat",
		Short: "Show the caches and sessions live: entries, budgets, rates, health",
		Long: `Show what the caches and the sessions hold, how full their budgets are, and what
happens to them a second. In a terminal it refreshes until q or Ctrl-C; elsewhere
it prints once, or every --interval if that is given. The first figures come
after one interval, which the rates need.

It reads the statistics of PostgreSQL, cheap enough to leave running, with the
privileges of a runtime role: of --database-url, else of the embedded database of a
running "howdah serve". --metrics adds the hits as servers count them. With --server it
shows what that process counts, of its own database, and no other.

docs/operations.md explains the columns.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			source, err := s.source(cmd.Context())
			if err != nil {
				return err
			}
			defer source.close()
			return s.run(cmd, source)
		},
	}
	s.target.flags(cmd)
	f := cmd.Flags()
	f.Lookup("cache").Hidden = true // all are shown
	f.StringArrayVar(&s.metrics, "metrics", nil, "with --database-url: also read the hits from the metrics of this server (http://host:8080/metrics); may be repeated")
	f.StringVar(&s.token, "token", "", "token for --metrics")
	f.Var(&s.interval, "interval", "time between two measurements; rates are averages over it (default 2s)")
	f.BoolVar(&s.once, "once", false, "print once and exit, also in a terminal")
	s.output.add(cmd)
	s.output.addAlias(cmd)
	fromEnvironment(f, "token")
	return cmd
}

// figures are what a source says at one moment, of the time since it was asked
// before.
type figures interface {
	Text(width, height int) string
}

// source is a database or a server. read may be called again after an error.
type source interface {
	read(context.Context) (figures, error)
	close()
}

func (s *statistics) source(ctx context.Context) (source, error) {
	databaseURL, asksServer, err := s.target.look()
	switch {
	case err != nil:
		return nil, err
	case asksServer && len(s.metrics) > 0:
		return nil, usagef("--metrics belongs to --database-url: --server counts by itself")
	case asksServer:
		return &serverSource{process: &s.target.process}, nil
	}
	d := &databaseSource{url: databaseURL, metrics: s.metrics, token: s.token}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	return d, d.connect(ctx)
}

func (s *statistics) run(cmd *cobra.Command, from source) error {
	interval := cmp.Or(time.Duration(s.interval), defaultInterval)
	if interval < 100*time.Millisecond {
		return usagef("--interval must be at least 100ms")
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	out := cmd.OutOrStdout()
	file, isFile := out.(*os.File)
	if isFile && term.IsTerminal(int(file.Fd())) && !s.once && !s.output.json() {
		return showLive(ctx, file, cmd.InOrStdin(), from, interval)
	}
	// What the rates are counted from.
	if _, err := readBounded(ctx, from); err != nil {
		return err
	}
	for repeat := cmd.Flags().Changed("interval") && !s.once; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(interval):
		}
		now, err := readBounded(ctx, from)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.print(out, now); err != nil || !repeat {
			return err
		}
	}
}

func (s *statistics) print(out io.Writer, now figures) error {
	return s.output.print(out, now, now.Text(0, 0))
}

// readBounded gives every look a bound of its own.
func readBounded(ctx context.Context, from source) (figures, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	return from.read(ctx)
}

// databaseSource looks at the tables.
type databaseSource struct {
	url     string
	metrics []string
	token   string

	conn   *pgx.Conn
	beside beside
	before *stat.Snapshot
	hits   []stat.Hits
}

func (d *databaseSource) connect(ctx context.Context) error {
	conn, err := connect(ctx, d.url)
	if err != nil {
		return err
	}
	if err := migrate.Check(ctx, conn); err != nil {
		_ = conn.Close(ctx)
		return err
	}
	d.conn = conn
	return nil
}

func (d *databaseSource) read(ctx context.Context) (figures, error) {
	if d.conn == nil || d.conn.IsClosed() {
		if err := d.connect(ctx); err != nil {
			return nil, err
		}
	}
	servers, err := d.beside.servers(ctx, d.conn)
	if err != nil {
		return nil, err
	}
	now, err := stat.Read(ctx, d.conn, servers...)
	if err != nil {
		return nil, err
	}
	var hits []stat.Hits
	for _, url := range d.metrics {
		h, err := stat.ReadHits(ctx, url, d.token)
		if err != nil {
			return nil, fmt.Errorf("cannot read --metrics: %w", err)
		}
		hits = append(hits, h)
	}
	report := stat.Compare(d.before, now, stat.HitShares(d.hits, hits))
	d.before, d.hits = now, hits
	return report, nil
}

func (d *databaseSource) close() {
	d.beside.close()
	if d.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = d.conn.Close(ctx)
	}
}
