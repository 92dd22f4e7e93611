package server

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/howdah/howdah/internal/core"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/schema"
)

const (
	// processRenewal is how often a process says that it is there. The query stat_processes
	// calls silent who has missed three times.
	processRenewal = 10 * time.Second

	// leaveTimeout bounds what a server that stops spends on saying so.
	leaveTimeout = time.Second
)

// process is this process in howdah_internal.process, the list of the processes of "howdah
// serve".
type process struct {
	db      *core.DB
	id      int64 // random, another one for each Run
	name    string
	version string
	began   time.Time
	logger  *slog.Logger

	refused bool // that it may not be in the list has been logged
}

func newProcess(db *core.DB, c *Config) *process {
	return &process{db: db, id: rand.Int64() | 1, name: core.ProcessName(), version: c.Version, began: time.Now(), logger: c.Logger}
}

// run keeps this process in the list until ctx ends, and takes it out then.
func (p *process) run(ctx context.Context) {
	timer := time.NewTicker(processRenewal)
	defer timer.Stop()
	for {
		p.renew(ctx)
		select {
		case <-ctx.Done():
			if !p.refused {
				p.leave()
			}
			return
		case <-timer.C:
		}
	}
}

// renew says that this process is there. That it cannot is no reason to stop: the list is for
// people.
func (p *process) renew(ctx context.Context) {
	n := p.db.Stats().Near
	drops := n.Drops.Server + n.Drops.Incarnation + n.Drops.Unlit + n.Drops.Floor + n.Drops.Overflow + n.Drops.Stranded
	// To the end, also when this process stops: otherwise its row could come after it has left.
	err := p.ask(context.WithoutCancel(ctx), p.db.Timeout(), "process_renew", p.id, p.name, p.version, time.Since(p.began),
		n.Bound, int64(n.Entries), n.Bytes, n.MaxBytes, int64(n.Hits), int64(n.Misses), n.MaxAge, n.Lag, int64(drops), int64(n.Lapses))
	switch {
	case err == nil:
		p.refused = false
	case errors.Is(err, fault.ErrPermission) && !p.refused:
		p.refused = true
		p.logger.Warn("this server is not in the list of servers, which the console shows: "+
			"let the owner of the schema run \"howdah migrate --runtime-role\" for its role", "error", err)
	case ctx.Err() == nil:
		p.logger.Debug("this server could not renew its place in the list of servers", "error", err)
	}
}

// leave takes this process out of the list. If it cannot, others forget it after a while.
func (p *process) leave() {
	if err := p.ask(context.Background(), leaveTimeout, "process_leave", p.id); err != nil {
		p.logger.Debug("this server could not leave the list of servers; it is forgotten after 5 minutes", "error", err)
	}
}

func (p *process) ask(ctx context.Context, timeout time.Duration, query string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := p.db.Acquire(ctx)
	if err != nil {
		return p.db.Failure(err, false)
	}
	defer conn.Release()
	_, err = conn.Exec(ctx, schema.Query(query), args...)
	return p.db.Failure(err, false)
}
