// Command scs shows github.com/alexedwards/scs with its sessions in Howdah: the
// line that sets manager.Store is all there is to change.
//
//	go run ./cmd/howdah serve      # in another terminal: an embedded PostgreSQL
//	go run ./examples/scs -database "$(go run ./cmd/howdah url)"
//
// Any other PostgreSQL will do: the example adds Howdah's schema to it. It
// imports nothing but public packages, so that it can be copied.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/migrate"
	"github.com/howdah/howdah/session"
	"github.com/howdah/howdah/session/scsstore"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8081", "address to serve on")
	database := flag.String("database", "", "URL of a PostgreSQL database; Howdah's schema is added to it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *listen, *database); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, listen, database string) error {
	if database == "" {
		return errors.New("which database? give -database a PostgreSQL URL, such as the one that \"howdah url\" prints while \"howdah serve\" is running")
	}
	if err := install(ctx, database); err != nil {
		return err
	}
	db, err := howdah.Open(ctx, database, nil)
	if err != nil {
		return err
	}
	defer db.Close()

	manager := scs.New()
	manager.Store = scsstore.New(db) // the one line

	// Removes the rows of expired sessions.
	upkeep, err := session.New(db, nil)
	if err != nil {
		return err
	}
	kept := make(chan error, 1)
	go func() { kept <- upkeep.Run(ctx) }()

	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("%w: choose another address with -listen", err)
	}
	web := &http.Server{Handler: manager.LoadAndSave(routes(manager)), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	fmt.Printf("Open http://%s in a browser. Ctrl-C stops.\n", listener.Addr())
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	shutdown, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := web.Shutdown(shutdown); err != nil {
		return err
	}
	return <-kept
}

// install adds Howdah's schema to the database, if it is not there.
func install(ctx context.Context, database string) error {
	conn, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = migrate.Up(ctx, conn, migrate.Options{})
	return err
}

// routes is an application as it was written for scs.
func routes(manager *scs.SessionManager) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		views := manager.GetInt(r.Context(), "views") + 1
		manager.Put(r.Context(), "views", views)
		fmt.Fprintf(w, "Page views of this session: %d\n", views)
	})
	mux.HandleFunc("GET /forget", func(w http.ResponseWriter, r *http.Request) {
		if err := manager.Destroy(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	return mux
}
