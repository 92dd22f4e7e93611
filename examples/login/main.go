// Command login shows sessions in a browser: log in, count page views, see
// where else you are logged in, log out everywhere.
//
//	go run ./cmd/howdah serve      # in another terminal: an embedded PostgreSQL
//	go run ./examples/login -database "$(go run ./cmd/howdah url)"
//
// Any other PostgreSQL will do: the example adds Howdah's schema to it. It
// imports nothing but public packages, so that it can be copied.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/migrate"
	"github.com/howdah/howdah/session"
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

	sessions, err := session.New(db, &session.Options{
		// Plain HTTP, as this is a demonstration on one machine. Leave it out
		// behind HTTPS, and the cookie is as safe as cookies get.
		Cookie: session.Cookie{Insecure: true},
	})
	if err != nil {
		return err
	}
	// Writes uses in batches, removes expired sessions, and when ctx ends
	// writes what is left.
	kept := make(chan error, 1)
	go func() { kept <- sessions.Run(ctx) }()

	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("%w: choose another address with -listen", err)
	}
	web := &http.Server{Handler: sessions.Middleware(routes(sessions)), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	fmt.Printf("Open http://%s in a browser, or in two. Ctrl-C stops.\n", listener.Addr())
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

// routes is the application. Errors of the database need no care: the
// middleware answers 503 in the place of whatever a handler writes.
func routes(sessions *session.Manager) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		s := session.From(r.Context())
		user, err := s.User()
		if err != nil {
			return
		}
		view := struct {
			User  string
			Views int
			ID    session.ID
			List  []session.Info
		}{User: user}
		if user != "" {
			s.Get("views", &view.Views)
			view.Views++
			s.Set("views", view.Views)
			if current, err := s.Session(); err == nil && current != nil {
				view.ID = current.ID
			}
			if view.List, err = sessions.List(r.Context(), user); err != nil {
				http.Error(w, "The list of your sessions cannot be read now.", http.StatusServiceUnavailable)
				return
			}
		}
		page.Execute(w, view)
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		// A real application checks a password here.
		user := strings.TrimSpace(r.FormValue("user"))
		if user == "" {
			http.Error(w, "Go back and give a name.", http.StatusBadRequest)
			return
		}
		if err := session.From(r.Context()).Login(user); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	mux.HandleFunc("POST /logout", then(func(s *session.Current, _ *http.Request) error { return s.Logout() }))
	mux.HandleFunc("POST /logout-others", then(func(s *session.Current, _ *http.Request) error {
		_, err := s.LogoutOthers()
		return err
	}))
	mux.HandleFunc("POST /logout-everywhere", then(func(s *session.Current, _ *http.Request) error {
		_, err := s.LogoutEverywhere()
		return err
	}))
	mux.HandleFunc("POST /revoke", then(func(s *session.Current, r *http.Request) error {
		user, err := s.User()
		if err != nil || user == "" {
			return err // logged out meanwhile: the page says so
		}
		id, err := session.ParseID(r.FormValue("id"))
		if err != nil {
			return err
		}
		_, err = sessions.RevokeOwn(r.Context(), user, id) // never another user's
		return err
	}))
	// A form on another site must not log users in or out.
	return http.NewCrossOriginProtection().Handler(mux)
}

// then does something with the session and goes back to the page.
func then(do func(*session.Current, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := do(session.From(r.Context()), r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}

var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Howdah: sessions</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 48rem; margin: 3rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100%; table-layout: fixed }
td, th { text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid #ccc; overflow-wrap: anywhere }
.agent { overflow: hidden; text-overflow: ellipsis; white-space: nowrap } .end { width: 4.5rem }
form { display: inline } button { margin-bottom: .3rem }
</style>
{{if .User}}
<h1>Hello, {{.User}}</h1>
<p>This session has seen {{.Views}} page view{{if ne .Views 1}}s{{end}}. <a href="/">Again</a></p>
<table>
<tr><th>Since<th>Address<th>Browser<th class="end"></tr>
{{range .List}}<tr><td>{{.CreatedAt.Format "2 Jan 15:04:05 MST"}}<td>{{.IP}}<td class="agent" title="{{.UserAgent}}">{{.UserAgent}}
<td>{{if eq .ID $.ID}}this one{{else}}<form method="post" action="/revoke"><button name="id" value="{{.ID}}">End</button></form>{{end}}</tr>
{{end}}</table>
<p>
<form method="post" action="/logout"><button>Log out</button></form>
<form method="post" action="/logout-others"><button>Log out elsewhere</button></form>
<form method="post" action="/logout-everywhere"><button>Log out everywhere</button></form>
</p>
{{else}}
<h1>Who are you?</h1>
<form method="post" action="/login">
<input name="user" aria-label="Name" placeholder="any name" required maxlength="100" autofocus> <button>Log in</button>
</form>
{{end}}
`))
