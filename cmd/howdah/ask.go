package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/howdah/howdah/internal/core"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/observe"
	"github.com/howdah/howdah/internal/redisapi"
	"github.com/howdah/howdah/internal/resp"
)

// commandTimeout bounds one command of get, set, del, ttl, keys and stat.
const commandTimeout = 30 * time.Second

// target says which cache the small commands work on: one that a server
// serves, or a table of a database. Both are asked in Redis commands, so that
// they behave alike.
type target struct {
	process            processFlags
	databaseURL, cache string
}

func (t *target) flags(cmd *cobra.Command) {
	t.process.addServer(cmd)
	f := cmd.Flags()
	f.StringVar(&t.databaseURL, "database-url", "", "PostgreSQL to ask directly, instead of a server")
	f.StringVar(&t.cache, "cache", "", "cache to work on; a server serves db0 to db15 (default: the database that --server names, else db0)")
	fromEnvironment(f, "database-url", "cache")
	mustComplete(cmd, "cache", completeCacheFlag)
}

// asker sends one command and returns its reply. An error reply is an error.
type asker interface {
	ask(ctx context.Context, args ...string) (resp.Reply, error)
	close()
}

// with connects, runs fn and disconnects.
func (t *target) with(ctx context.Context, fn func(context.Context, asker) error) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	a, err := t.connect(ctx)
	if err != nil {
		return err
	}
	defer a.close()
	return fn(ctx, a)
}

func (t *target) connect(ctx context.Context) (asker, error) {
	databaseURL, err := t.database()
	switch {
	case err != nil:
		return nil, err
	case databaseURL != "":
		return openDirect(ctx, databaseURL, cmp.Or(t.cache, defaultCache))
	}
	return t.process.connect(ctx, t.cache)
}

// named says what was named: a database by its URL, or a server. Flags come before the environment,
// and there a database before a server. Neither: what runs on this machine is looked for.
func (t *target) named() (database, server bool, err error) {
	cmd := t.process.cmd
	byServer, byDir, byURL := typed(cmd, "server"), typed(cmd, "data-dir"), typed(cmd, "database-url")
	switch {
	case byServer && byDir, byServer && byURL, byDir && byURL:
		return false, false, usagef("give one of --server, --data-dir and --database-url")
	case byServer, byDir:
		return false, byServer, nil
	case t.databaseURL != "":
		return true, false, nil
	}
	return false, t.process.server != "", nil
}

// database is the URL of the database to ask directly; "": a server is asked.
func (t *target) database() (string, error) {
	database, server, err := t.named()
	switch {
	case err != nil:
		return "", err
	case database:
		return t.databaseURL, nil
	case server:
		return "", nil
	}
	// A server serves db0 to db15. Its embedded PostgreSQL has the others too.
	if _, err := (address{}).choose(t.cache); err != nil {
		here, runs := running(t.process.dataDir)
		if runs != nil {
			return "", err
		}
		return here.URL(), nil
	}
	return "", nil
}

// look is the URL of the database to look at, or says that a server is asked.
func (t *target) look() (databaseURL string, server bool, err error) {
	_, server, err = t.named()
	if err != nil || server {
		return "", server, err
	}
	d := databaseFlags{url: t.databaseURL, dataDir: t.process.dataDir}
	if typed(t.process.cmd, "data-dir") {
		d.url = ""
	}
	databaseURL, err = d.find()
	return databaseURL, false, err
}

// defaultCache is the cache of a command that names none.
const defaultCache = "db0"

// remote asks a server.
type remote struct {
	conn   net.Conn
	reader *bufio.Reader
}

// begin authenticates, if the URL has a password, and selects the database.
func (r *remote) begin(ctx context.Context, to address, database string) error {
	if password, given := to.user.Password(); given {
		auth := []string{"AUTH", password}
		if to.user.Username() != "" {
			auth = []string{"AUTH", to.user.Username(), password}
		}
		_, err := r.ask(ctx, auth...)
		if err != nil && !(to.offered && strings.Contains(err.Error(), "without any password configured")) {
			return fmt.Errorf("the server refused the password: %w", err)
		}
	}
	if database == "0" {
		return nil // where every connection begins
	}
	_, err := r.ask(ctx, "SELECT", database)
	return err
}

// newRemote returns a remote on a connection, which works until ctx ends.
func newRemote(ctx context.Context, conn net.Conn) *remote {
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	return &remote{conn: conn, reader: bufio.NewReader(conn)}
}

// dial connects, by TLS if secure. config may be nil, for the usual checks.
func dial(ctx context.Context, secure bool, addr string, config *tls.Config) (net.Conn, error) {
	if secure {
		return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", addr)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", addr)
}

func (r *remote) ask(_ context.Context, args ...string) (resp.Reply, error) {
	reply, err := r.send(args...)
	if err != nil {
		return resp.Reply{}, err
	}
	return reply, replyError(reply)
}

// send sends a command and returns its reply, which may be an error reply.
func (r *remote) send(args ...string) (resp.Reply, error) {
	_, writeErr := r.conn.Write(resp.AppendCommand(nil, args...))
	// A server that refuses what it is sent says so before it closes.
	reply, err := resp.ReadReply(r.reader)
	if writeErr != nil && err == nil {
		if err = reply.Err(); err != nil {
			return resp.Reply{}, fmt.Errorf("the server refused the command, perhaps because it is larger than its --max-request-bytes: %w", err)
		}
		err = writeErr
	}
	if err != nil {
		return resp.Reply{}, fmt.Errorf("the connection to the server was lost: %w", err)
	}
	return reply, nil
}

func (r *remote) close() { _ = r.conn.Close() }

// direct asks a database, through the same commands without a server.
type direct struct {
	db     *howdah.DB
	engine *redisapi.Engine
	conn   *redisapi.Local
}

func openDirect(ctx context.Context, databaseURL, cache string) (*direct, error) {
	db, err := howdah.Open(ctx, databaseURL, &howdah.Options{MaxConns: 2, Timeout: commandTimeout})
	if err != nil {
		return nil, err
	}
	// Any read fails if the cache does not exist.
	if _, err := db.Cache(cache).Stat(ctx, ""); err != nil && !errors.Is(err, howdah.ErrMiss) {
		_ = db.Close()
		if errors.Is(err, howdah.ErrCacheNotFound) {
			err = fmt.Errorf("there is no cache %q in this database: make it with SELECT howdah.create_cache('%s')", cache, cache)
		}
		return nil, err
	}
	engine, err := redisapi.New(redisapi.Options{DB: (*core.DB)(db), Database: func(int) string { return cache }})
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	return &direct{db: db, engine: engine, conn: engine.ConnectLocal(observe.Client{Door: observe.DoorRedis})}, nil
}

func (d *direct) ask(ctx context.Context, args ...string) (resp.Reply, error) {
	reply, err := d.conn.Do(ctx, args...)
	switch {
	case ctx.Err() != nil && err != nil:
		return resp.Reply{}, errors.New("the database did not answer in time")
	case err != nil:
		return resp.Reply{}, err
	}
	return reply, replyError(reply)
}

func (d *direct) close() {
	d.conn.Close()
	d.engine.Close()
	_ = d.db.Close()
}

// replyError makes a sentence of an error reply.
func replyError(reply resp.Reply) error {
	err := reply.Err()
	if err == nil {
		return nil
	}
	text := err.Error()
	if strings.HasPrefix(text, "NOAUTH") {
		return errors.New("the server asks for a password: give --password-file, or HOWDAH_PASSWORD, or --server redis://:password@host:port")
	}
	return errors.New(strings.TrimPrefix(text, "ERR "))
}

// errAbsent is the answer of get and ttl for a key that is not there.
func errAbsent(key string) error { return fmt.Errorf("no key %q", key) }
