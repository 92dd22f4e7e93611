package chart

import "fmt"

// Colour of a line or a bar. A contestant has the same one in every picture.
// They are told apart by people who do not see red and green alike (after
// Okabe and Ito).
type Colour string

// The colours by contestant.
const (
	Howdah    Colour = "#0072b2"
	Memory    Colour = "#56b4e9" // Howdah beside itself, with hot entries in memory
	Redis     Colour = "#d55e00" // redis-server, and go-redis, its usual client
	Rueidis   Colour = "#e69f00" // a client of Redis that batches its calls
	Memcached Colour = "#009e73"
	Plain     Colour = "#cc79a7" // PostgreSQL without Howdah: one statement a call
	Nothing   Colour = "#7f7f7f" // what is measured without any cache
)

// contestants are the names of the series that pages show.
var contestants = map[string]Colour{
	"Howdah":                       Howdah,
	"howdah serve":                 Howdah,
	"howdah serve --near":          Memory,
	"Howdah, Get":                  Howdah,
	"Howdah, GetAppend":            Memory,
	"go-redis":                     Redis,
	"redis-server":                 Redis,
	"Go server over go-redis":      Redis,
	"Redis, no log":                Redis,
	"rueidis":                      Rueidis,
	"rueidis, DoCache":             Rueidis,
	"gomemcache":                   Memcached,
	"pgx, one statement a call":    Plain,
	"Go server over pgx, UNLOGGED": Plain,
	"scs on its PostgreSQL store":  Plain,
	"one statement a call":         Plain,
	"hand-tuned table":             Plain,
	"no cache":                     Nothing,
}

// ColourOf is the colour of a contestant, by the name of its series.
func ColourOf(series string) (Colour, error) {
	c, ok := contestants[series]
	if !ok {
		return "", fmt.Errorf("the series %q has no colour: name its contestant in chart/colours.go", series)
	}
	return c, nil
}
