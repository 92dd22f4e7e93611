package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/howdah/howdah/bench/internal/machine"
	"github.com/howdah/howdah/bench/internal/rival"
)

// HTTPServer is a small cache server such as an application writes for
// itself: /get and /set over one call of a client library each.
type HTTPServer struct {
	Addr    string
	Process machine.Process
	process *process
}

// The stores behind an HTTPServer.
const (
	StoreRedis       = "redis"        // go-redis with its default pool
	StorePgx         = "pgx"          // plain pgx on an UNLOGGED table
	StorePgxDurable  = "pgx, durable" // the same on a LOGGED table
	httpPool         = 50             // connections of plain pgx
	maxHTTPBodyBytes = 16 << 20
)

type httpJob struct{ Store, Target string }
type listening struct{ Addr string }

// StartHTTP runs an HTTPServer over a store, which is reached by a URL or an
// address.
func StartHTTP(store, target string) (*HTTPServer, error) {
	p, err := start(roleHTTP, anywhere)
	if err != nil {
		return nil, err
	}
	if err := p.tell(httpJob{store, target}); err != nil {
		p.stop()
		return nil, err
	}
	var at listening
	if err := p.hear(&at); err != nil {
		return nil, err
	}
	return &HTTPServer{at.Addr, p.machine(), p}, nil
}

// Stop ends the server.
func (s *HTTPServer) Stop() error { return s.process.stop() }

// serveHTTP serves until the input ends.
func serveHTTP(ctx context.Context, in *bufio.Reader, out io.Writer) error {
	var job httpJob
	if err := readLine(in, &job); err != nil {
		return err
	}
	var store rival.Rival
	var err error
	switch job.Store {
	case StoreRedis:
		store = rival.NewGoRedis(job.Target, 0)
	case StorePgx:
		store, err = rival.NewPgx(ctx, job.Target, httpPool)
	case StorePgxDurable:
		store, err = rival.NewDurablePgx(ctx, job.Target, httpPool)
	default:
		err = fmt.Errorf("there is no store %q", job.Store)
	}
	if err != nil {
		return err
	}
	defer store.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(store)}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	if err := writeLine(out, listening{l.Addr().String()}); err != nil {
		return err
	}
	io.Copy(io.Discard, in)
	server.Close()
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func handler(store rival.Rival) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /get", func(w http.ResponseWriter, r *http.Request) {
		value, err := store.Get(r.Context(), r.URL.Query().Get("key"))
		switch {
		case errors.Is(err, redis.Nil), errors.Is(err, pgx.ErrNoRows):
			w.WriteHeader(http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Header().Set("Content-Length", strconv.Itoa(len(value)))
			w.Write(value)
		}
	})
	mux.HandleFunc("POST /set", func(w http.ResponseWriter, r *http.Request) {
		value, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxHTTPBodyBytes))
		if err == nil {
			err = store.Set(r.Context(), r.URL.Query().Get("key"), value)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}
