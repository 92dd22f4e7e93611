package httpapi

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/howdah/howdah/internal/observe"
)

// RedisClients is what the routes know of the Redis clients of this server.
type RedisClients interface {
	// Clients returns the connections, in the order in which they came.
	Clients() []observe.Connection
	// Kill closes the connection of a number, and reports whether there was one.
	Kill(id int64) bool
	// UnknownCommands returns the commands that clients sent and Howdah lacks, the most
	// often first.
	UnknownCommands() []observe.UnknownCommand
}

// maxClients bounds the connections, and their groups, of one answer.
const maxClients = 1000

// jsonConnection is one connection of a Redis client.
type jsonConnection struct {
	ID       int64   `json:"id"`
	Client   string  `json:"client"`
	Library  string  `json:"library"`
	Version  string  `json:"version"`
	Address  string  `json:"address"`
	Age      float64 `json:"age"`  // seconds
	Idle     float64 `json:"idle"` // seconds
	Database int     `json:"database"`
	Command  string  `json:"command"` // the last one
	Waits    bool    `json:"waits"`
	Listens  bool    `json:"listens"`
	Tracks   bool    `json:"tracks"`
}

// jsonClients is how many connections have one library and one name.
type jsonClients struct {
	Library     string `json:"library"`
	Client      string `json:"client"`
	Connections int    `json:"connections"`
}

// listClients answers the connections of Redis clients: by library and name, the most
// first, and each of them, in the order in which they came.
func (a *api) listClients(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	var clients []observe.Connection
	if a.redis != nil {
		clients = a.redis.Clients()
	}
	answer := struct {
		Sees        string           `json:"sees"`
		Total       int              `json:"total"`
		Clients     []jsonClients    `json:"clients"`
		Connections []jsonConnection `json:"connections"` // the first ones
	}{Sees: thisServer, Total: len(clients), Clients: groupsOf(clients), Connections: []jsonConnection{}}
	for _, c := range clients[:min(len(clients), maxClients)] {
		answer.Connections = append(answer.Connections, jsonConnection{
			ID: c.ID, Client: c.Name, Library: c.Library, Version: c.Version, Address: c.Address, Age: c.Age.Seconds(), Idle: c.Idle.Seconds(),
			Database: c.Database, Command: c.Command, Waits: c.Waits, Listens: c.Listens, Tracks: c.Tracks,
		})
	}
	return writeJSON(w, http.StatusOK, answer)
}

// groupsOf counts connections by library and name.
func groupsOf(clients []observe.Connection) []jsonClients {
	counts := make(map[jsonClients]int)
	for _, c := range clients {
		counts[jsonClients{Library: c.Library, Client: c.Name}]++
	}
	groups := make([]jsonClients, 0, len(counts))
	for group, n := range counts {
		group.Connections = n
		groups = append(groups, group)
	}
	slices.SortFunc(groups, func(a, b jsonClients) int {
		return cmp.Or(cmp.Compare(b.Connections, a.Connections), cmp.Compare(a.Library, b.Library), cmp.Compare(a.Client, b.Client))
	})
	return groups[:min(len(groups), maxClients)]
}

// killClient closes a connection.
func (a *api) killClient(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	if err := unconditional(r); err != nil {
		return err
	}
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || a.redis == nil || !a.redis.Kill(id) {
		return problemf(notFound, "No Redis client of this server has the number %.50q. It may have left.", r.PathValue("id"))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// jsonUnknown is a command that Howdah lacks.
type jsonUnknown struct {
	Command   string        `json:"command"`
	Count     uint64        `json:"count"`
	Libraries []jsonLibrary `json:"libraries"`
}

type jsonLibrary struct {
	Library string `json:"library"`
	Count   uint64 `json:"count"`
}

// listUnknown answers which commands clients sent that Howdah lacks, and by which
// libraries.
func (a *api) listUnknown(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	answer := struct {
		Sees     string        `json:"sees"`
		Commands []jsonUnknown `json:"commands"`
	}{thisServer, []jsonUnknown{}}
	if a.redis != nil {
		for _, u := range a.redis.UnknownCommands() {
			j := jsonUnknown{Command: u.Name, Count: u.Count, Libraries: []jsonLibrary{}}
			for _, l := range u.Libraries {
				j.Libraries = append(j.Libraries, jsonLibrary(l))
			}
			answer.Commands = append(answer.Commands, j)
		}
	}
	return writeJSON(w, http.StatusOK, answer)
}
