package arrows_test

import "fmt"

// floor orders the rooms: arrows point to lower ones only.
type floor int

const (
	ground floor = iota
	floor1
	floor2
	floor3
	floor4
	floor5
	floor6
	floor7
	floor8
	floor9
	floor10
	floor11
	roof
)

func (f floor) String() string {
	switch f {
	case ground:
		return "ground"
	case roof:
		return "the roof"
	}
	return fmt.Sprintf("floor %d", int(f))
}

// room is one folder with Go files.
type room struct {
	floor    floor
	leaf     bool // imports nothing of this module; may be imported by all
	stdlib   bool // imports the standard library only
	door     bool // imports no driver of PostgreSQL
	public   bool // imports nothing that other modules cannot import
	testOnly bool // imported by _test.go files and by other such rooms only

	// tests names rooms that the tests of this one may import besides: those
	// through which an application reaches it.
	tests []string
}

// house is the table of rooms: path inside the module, "." is its root. A new
// folder gets a line here, on the lowest floor that it can live on.
var house = map[string]room{
	"internal/coalesce":    {leaf: true},
	"internal/resp":        {leaf: true, stdlib: true},
	"internal/pipeline":    {leaf: true, stdlib: true},
	"internal/pubsub":      {leaf: true, stdlib: true},
	"internal/near":        {leaf: true},
	"internal/tracking":    {leaf: true, stdlib: true},
	"internal/fetch":       {leaf: true, stdlib: true},
	"internal/observe":     {leaf: true, stdlib: true},
	"internal/throttle":    {leaf: true, stdlib: true},
	"internal/trace":       {leaf: true, stdlib: true},
	"internal/values":      {leaf: true, stdlib: true},
	"internal/lua":         {leaf: true, stdlib: true},
	"internal/embedded":    {leaf: true},
	"internal/pgurl":       {leaf: true},
	"internal/test/arrows": {leaf: true},
	"deploy":               {leaf: true, stdlib: true},

	// From the words of the doors down to SQL: the engine.
	"schema":             {floor: ground},
	"internal/fault":     {floor: ground},
	"internal/rediscli":  {floor: ground},
	"migrate":            {floor: floor1},
	"internal/doctor":    {floor: floor1, tests: []string{"migrate"}},
	"internal/stat":      {floor: floor1},
	"internal/bus":       {floor: floor1},
	"internal/verb":      {floor: floor1},
	"internal/pgwire":    {floor: floor1},
	"internal/statement": {floor: floor2},
	"internal/cluster":   {floor: floor2},
	"internal/engine":    {floor: floor3},
	"internal/upkeep":    {floor: floor4},
	"internal/edit":      {floor: floor4, tests: []string{"internal/core"}},
	"internal/core":      {floor: floor5},

	"internal/figures": {floor: floor6},

	// The face.
	".": {floor: floor6},

	// Beside it, on what it stands on.
	"internal/transfer": {floor: floor6, tests: []string{"internal/server"}},

	// What stands on it. The doors use core, their tests the face.
	"internal/redisapi":          {floor: floor7, door: true},
	"backend/internal/remote":    {floor: floor7},
	"session/internal/statement": {floor: floor7},
	"session":                    {floor: floor8},
	"session/scsstore":           {floor: floor8},
	"backend/redis":              {floor: floor8, tests: []string{"backend"}},
	"backend/memcached":          {floor: floor8, tests: []string{"backend"}},
	"backend/memory":             {floor: floor8, tests: []string{"backend"}},
	"backend":                    {floor: floor9},
	"internal/httpapi":           {floor: floor9, door: true},
	"internal/console":           {floor: floor10},
	"internal/server":            {floor: floor11},

	"cmd/howdah":     {floor: roof},
	"examples/login": {floor: roof, public: true},
	"examples/scs":   {floor: roof, public: true},

	"internal/test/pgtest":    {testOnly: true},
	"internal/test/grammar":   {testOnly: true},
	"internal/test/seed":      {testOnly: true},
	"internal/test/long":      {testOnly: true},
	"internal/test/await":     {testOnly: true},
	"internal/test/bubble":    {testOnly: true},
	"internal/test/coherence": {testOnly: true},
	"internal/test/dbtest":    {testOnly: true},
	"internal/test/onekey":    {testOnly: true},
	"internal/test/handover":  {testOnly: true},
	"internal/test/leaks":     {testOnly: true},
	"internal/test/peers":     {testOnly: true},
	"internal/test/relay":     {testOnly: true},
	"backend/backendtest":     {testOnly: true},

	// Tests of the whole through the face.
	"tests/contract": {testOnly: true},
	"tests/crash":    {floor: roof},
	"tests/limits":   {floor: roof},
	"tests/peers":    {floor: roof},
	"tests/citus":    {floor: roof},
}

// environment lists the files outside of cmd/, bench/ and tests that may read
// the environment: the defaults that a program asks for by name, and the
// choice of a PostgreSQL and of seeds for tests.
var environment = map[string]bool{
	"internal/embedded/config.go":     true,
	"internal/test/pgtest/cluster.go": true,
	"internal/test/seed/seed.go":      true,
	"internal/test/long/long.go":      true,
}

// drawers are names under which anything could be put.
var drawers = map[string]bool{
	"util": true, "utils": true, "common": true, "helper": true, "helpers": true, "misc": true,
}
