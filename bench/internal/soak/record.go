package soak

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/howdah/howdah/bench/internal/machine"
	"github.com/howdah/howdah/bench/internal/result"
)

// The two forms of a soak.
const (
	Churn  = "churn"
	Pinned = "pinned" // a snapshot was held open for a while
)

// Record is one soak. It is written as one JSON file, from which the page and
// its pictures are made.
type Record struct {
	Soak     string            `json:"soak"` // Churn or Pinned
	Date     time.Time         `json:"date"`
	Forced   bool              `json:"forced,omitempty"` // the machine was not quiet
	Command  string            `json:"command"`
	Machine  machine.Info      `json:"machine"`
	Versions map[string]string `json:"versions"`
	Settings []result.Setting  `json:"settings"`
	Seconds  float64           `json:"seconds"`
	Budget   int64             `json:"budget"`             // bytes
	PinFrom  float64           `json:"pin_from,omitempty"` // seconds; 0 and 0: no pin
	PinTo    float64           `json:"pin_to,omitempty"`
	Turns    bool              `json:"turns,omitempty"`  // one contender after the other
	Doubts   []string          `json:"doubts,omitempty"` // where something else was measured than what is claimed
	Runs     []*Run            `json:"runs"`
}

// Run is what one contender went through.
type Run struct {
	Name    string             `json:"name"`
	At      Samples            `json:"at"` // seconds, of each sample
	Series  map[string]Samples `json:"series"`
	Windows []Window           `json:"windows"`

	Due        int64  `json:"due"`  // requests
	Made       int64  `json:"made"` // those that were answered, rightly or not
	Errors     int64  `json:"errors"`
	FirstError string `json:"first_error,omitempty"`
	Upkeep     string `json:"upkeep_error,omitempty"`

	Size  int64 `json:"size"`  // of the table with all that belongs to it, at the end
	Fresh int64 `json:"fresh"` // of a fresh copy of what lived in it
}

// Samples are the values of a series. They are written as text, which stands
// on one line of a file.
type Samples []float64

// MarshalText separates the values by spaces.
func (s Samples) MarshalText() ([]byte, error) {
	var b []byte
	for i, v := range s {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	return b, nil
}

// UnmarshalText reads what MarshalText wrote.
func (s *Samples) UnmarshalText(text []byte) error {
	for word := range strings.FieldsSeq(string(text)) {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return err
		}
		*s = append(*s, v)
	}
	return nil
}

// Window is a part of a run with latencies of its own, in milliseconds.
type Window struct {
	Name    string                 `json:"name"`
	From    float64                `json:"from"`
	To      float64                `json:"to"`
	Latency map[string]Percentiles `json:"latency"` // by kind of request
}

// Percentiles of a latency, in milliseconds.
type Percentiles struct {
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p99.9"`
	Max   float64 `json:"max"`
	Count int64   `json:"count"`
}

// The series of a run. A name ends in its unit.
const (
	heapMB      = "heap MB"
	indexMB     = "index MB"
	freeMB      = "free MB"
	sizeMB      = "table and index MB"
	liveRows    = "live rows"
	deadRows    = "dead rows"
	expiredRows = "expired rows still there"
	entries     = "entries"
	budgetShare = "budget used %"
	hotShare    = "HOT updates %"
	updatesRate = "updates /s"
	hitShare    = "hits %"
	answersRate = "answers /s"
	errorsCount = "errors"
	walRate     = "WAL kB/s"
	xidRate     = "transaction ids /s"
	databaseCPU = "database CPU cores"
	clientCPU   = "client CPU cores"
	othersCPU   = "others' CPU % of the machine"
	autovacuums = "autovacuum runs"
	vacuums     = "other vacuum runs"
	upkeepRound = "upkeep rounds /s"
	expiredRate = "expired removed /s"
	evictedRate = "evicted /s"
	xminAge     = "oldest snapshot, transactions behind"
	connections = "connections"
)

// kept are the series that the page and its verdicts need. The others serve the
// progress lines and the doubts of a running soak; no file holds them.
var kept = []string{
	sizeMB, freeMB, deadRows, budgetShare, hitShare, walRate, databaseCPU,
	latencySeries(kindNames[read], "p99"), latencySeries(kindNames[set], "p99"),
}

// latencySeries names the percentiles of a kind of request.
func latencySeries(k, percentile string) string { return k + " " + percentile + " ms" }

func (r *Run) add(name string, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		value = 0
	}
	short, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 4, 64), 64)
	r.Series[name] = append(r.Series[name], short)
}

func (r *Record) kind() string {
	if r.PinTo > 0 {
		return Pinned
	}
	return Churn
}

func (r *Record) run(name string) *Run {
	for _, run := range r.Runs {
		if run.Name == name {
			return run
		}
	}
	return nil
}

// Save writes a record into a folder, as churn.json or pinned.json, and returns
// the path. A record of a busy machine does not replace one of a quiet machine:
// it goes to the folder result.Trial. A file appears whole or not at all.
func Save(dir string, r *Record) (string, error) {
	name := r.Soak + ".json"
	old, err := load(filepath.Join(dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", err
	case r.Forced && !old.Forced:
		dir = filepath.Join(dir, result.Trial)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	text, err := json.MarshalIndent(r.short(), "", " ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o644); err != nil {
		return "", err
	}
	return path, os.Rename(path+".new", path)
}

// short is the record with the kept series only.
func (r *Record) short() Record {
	out := *r
	out.Runs = nil
	for _, run := range r.Runs {
		brief := *run
		brief.Series = map[string]Samples{}
		for _, name := range kept {
			brief.Series[name] = run.Series[name]
		}
		out.Runs = append(out.Runs, &brief)
	}
	return out
}

func load(path string) (*Record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s is not a record of howdah-bench soak: %w", path, err)
	}
	if len(r.Runs) == 0 || r.Soak != Churn && r.Soak != Pinned {
		return nil, fmt.Errorf("%s is not a record of howdah-bench soak: it has no runs", path)
	}
	return &r, nil
}

// LoadAll returns the records of a folder, churn first.
func LoadAll(dir string) ([]*Record, error) {
	var out []*Record
	for _, form := range []string{Churn, Pinned} {
		r, err := load(filepath.Join(dir, form+".json"))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		default:
			out = append(out, r)
		}
	}
	return out, nil
}
