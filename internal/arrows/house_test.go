package arrows_test

// floor orders the rooms: arrows point to lower ones only.
type floor int

const (
	ground floor = iota
	stairs
	floor1
	mezzanine
	floor2
	floor3
	floor4
	roof
)

var floorNames = map[floor]string{
	ground: "ground", stairs: "the stairs", floor1: "floor 1", mezzanine: "the mezzanine", floor2: "floor 2",
	floor3: "floor 3", floor4: "floor 4", roof: "the roof",
}

// room is one folder with Go files.
type room struct {
	floor    floor
	leaf     bool // imports nothing of this module; may be imported by all
	stdlib   bool // imports the standard library only
	public   bool // imports nothing that other modules cannot import
	testOnly bool // imported by _test.go files and by other such rooms only

	// tests names rooms that the tests of this one may import besides: those
	// through which an application reaches it.
	tests []string
}

// house is the table of rooms: path inside the module, "." is its root. A new
// folder gets a line here, on the lowest floor that it can live on.
var house = map[string]room{
	"internal/coalesce": {leaf: true},
	"internal/resp":     {leaf: true, stdlib: true},
	"internal/embedded": {leaf: true},
	"internal/pgurl":    {leaf: true},
	"internal/arrows":   {leaf: true},

	"schema":          {floor: ground},
	"migrate":         {floor: stairs},
	"internal/doctor": {floor: stairs, tests: []string{"migrate"}},
	"internal/stat":   {floor: stairs},

	".": {floor: floor1},

	// What the stores behind a socket share.
	"backend/internal/remote": {floor: mezzanine},

	// What the session manager and the stores of other managers share.
	"session/internal/statement": {floor: mezzanine},

	"session":           {floor: floor2},
	"session/scsstore":  {floor: floor2},
	"backend/redis":     {floor: floor2, tests: []string{"backend"}},
	"backend/memcached": {floor: floor2, tests: []string{"backend"}},
	"backend/memory":    {floor: floor2, tests: []string{"backend"}},
	"internal/redisapi": {floor: floor2},

	"backend":          {floor: floor3},
	"internal/httpapi": {floor: floor3},
	"internal/console": {floor: floor3},

	"internal/server": {floor: floor4},

	"cmd/howdah":     {floor: roof},
	"examples/login": {floor: roof, public: true},
	"examples/scs":   {floor: roof, public: true},

	"internal/pgtest":     {testOnly: true},
	"backend/backendtest": {testOnly: true},
}

// environment lists the files outside of cmd/, bench/ and tests that may read
// the environment: the defaults that a program asks for by name, and the
// choice of a PostgreSQL for tests.
var environment = map[string]bool{
	"internal/embedded/config.go": true,
	"internal/pgtest/pgtest.go":   true,
}

// drawers are names under which anything could be put.
var drawers = map[string]bool{
	"util": true, "utils": true, "common": true, "helper": true, "helpers": true, "misc": true,
}
