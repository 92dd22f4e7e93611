package console

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/howdah/howdah/internal/observe"
)

// RedisClients is what the console knows of the Redis clients of its server.
type RedisClients interface {
	// Clients returns the connections, in the order in which they came.
	Clients() []observe.Connection
	// Kill closes the connection of a number, and reports whether there was one.
	Kill(id int64) bool
	// UnknownCommands returns the commands that clients sent and Howdah lacks, the most
	// often first.
	UnknownCommands() []observe.UnknownCommand
}

// connectionsShown bounds the connections on a page.
const connectionsShown = 200

// libraryRow are the connections of one client library.
type libraryRow struct {
	Library     string
	Connections int
	Names       string // of some of the clients
}

// connectionRow is one connection.
type connectionRow struct {
	ID                           int64
	Name, Library, Address, Kind string
	Database                     int
	Command                      string
	Age, Idle                    string
}

// unknownRow is a command that clients sent and Howdah lacks.
type unknownRow struct {
	Name, Libraries string
	Count           int64
}

// clientsView is the page of Redis clients.
type clientsView struct {
	Off       bool // the server has no listener for Redis clients
	Total     int
	Libraries []libraryRow
	Rows      []connectionRow
	Unknown   []unknownRow
}

func (c *Console) clientsPage(r *request) error {
	view := &clientsView{Off: c.clients == nil}
	if !view.Off {
		all := c.clients.Clients()
		view.Total, view.Libraries, view.Rows = len(all), libraries(all), connectionRows(all)
		for _, unknown := range c.clients.UnknownCommands() {
			var by []string
			for _, l := range unknown.Libraries {
				by = append(by, visible(cmp.Or(l.Library, "no name"))+": "+number(int64(l.Count)))
			}
			view.Unknown = append(view.Unknown, unknownRow{visible(unknown.Name), strings.Join(by, ", "), int64(unknown.Count)})
		}
	}
	return r.show(http.StatusOK, "clients.html", frame{Title: "Clients", Section: "clients", Live: true, Page: view})
}

// namesShown bounds the names of clients beside their library.
const namesShown = 5

func libraries(all []observe.Connection) []libraryRow {
	counts, names := map[string]int{}, map[string][]string{}
	for i := range all {
		library := strings.TrimSpace(all[i].Library + " " + all[i].Version)
		counts[library]++
		if name := visible(all[i].Name); name != "" && len(names[library]) < namesShown && !slices.Contains(names[library], name) {
			names[library] = append(names[library], name)
		}
	}
	var rows []libraryRow
	for library, n := range counts {
		rows = append(rows, libraryRow{visible(library), n, strings.Join(names[library], ", ")})
	}
	slices.SortFunc(rows, func(a, b libraryRow) int {
		return cmp.Or(cmp.Compare(b.Connections, a.Connections), cmp.Compare(a.Library, b.Library))
	})
	return rows[:min(len(rows), connectionsShown)]
}

func connectionRows(all []observe.Connection) []connectionRow {
	var rows []connectionRow
	for _, connection := range all[:min(len(all), connectionsShown)] {
		row := connectionRow{
			ID: connection.ID, Name: visible(connection.Name), Library: visible(strings.TrimSpace(connection.Library + " " + connection.Version)),
			Address: visible(connection.Address), Database: connection.Database, Command: visible(connection.Command),
			Age: duration(connection.Age), Idle: duration(connection.Idle),
		}
		var kinds []string
		for _, kind := range []struct {
			is   bool
			name string
		}{{connection.Listens, "subscribed"}, {connection.Waits, "waits for a key"}, {connection.Tracks, "tracks keys"}} {
			if kind.is {
				kinds = append(kinds, kind.name)
			}
		}
		row.Kind = strings.Join(kinds, ", ")
		rows = append(rows, row)
	}
	return rows
}

// killClient closes the connection of a client.
func (c *Console) killClient(r *request) error {
	id, err := strconv.ParseInt(r.PostForm.Get("id"), 10, 64)
	if err != nil {
		return badRequest("The form names no connection.")
	}
	if c.clients == nil || !c.clients.Kill(id) {
		return &refusal{http.StatusNotFound, "The connection has ended", "No Redis client of this server has this number; it may have left."}
	}
	r.audit("", "connection closed", strconv.FormatInt(id, 10))
	return r.back("clients", "killed")
}
