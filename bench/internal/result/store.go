package result

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Save writes a result into a directory, under its experiment and date, and
// returns the path. A file appears whole or not at all.
func Save(dir string, r *Result) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	round(r)
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("%s-%s.json", r.Experiment, r.Date.UTC().Format("20060102-150405"))
	path := filepath.Join(dir, name)
	temp := path + ".new"
	if err := os.WriteFile(temp, append(text, '\n'), 0o644); err != nil {
		return "", err
	}
	return path, os.Rename(temp, path)
}

// round drops digits that mean nothing and fill the file.
func round(r *Result) {
	short := func(values []float64) {
		for i, v := range values {
			fmt.Sscanf(fmt.Sprintf("%.5g", v), "%g", &values[i])
		}
	}
	for _, p := range r.Points {
		for _, m := range p.Metrics {
			short(m.Rounds)
		}
	}
	for _, ratio := range r.Ratios {
		short(ratio.Rounds)
	}
}

// Load reads one result.
func Load(path string) (*Result, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Result
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s is not a result of howdah-bench: %w", path, err)
	}
	if r.Experiment == "" {
		return nil, fmt.Errorf("%s is not a result of howdah-bench: it names no experiment", path)
	}
	return &r, nil
}

// Latest reads a directory and returns the newest result of each experiment,
// by name. A quiet machine beats a busy one, a full run a quick one, and three
// rounds beat fewer, whatever their dates.
func Latest(dir string) ([]*Result, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	best := map[string]*Result{}
	for _, path := range paths {
		r, err := Load(path)
		if err != nil {
			return nil, err
		}
		if old := best[r.Experiment]; old == nil || r.better(old) {
			best[r.Experiment] = r
		}
	}
	var out []*Result
	for _, r := range best {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *Result) int {
		if a.Experiment < b.Experiment {
			return -1
		}
		return 1
	})
	return out, nil
}

func (r *Result) better(old *Result) bool {
	if r.Forced != old.Forced {
		return old.Forced
	}
	if r.Quick != old.Quick {
		return old.Quick
	}
	if a, b := r.complete(), old.complete(); a != b {
		return a > b
	}
	return r.Date.After(old.Date)
}

// complete is how many rounds were measured, of the three that a full run has:
// more than these must not keep newer results out for ever.
func (r *Result) complete() int {
	_, most := r.Rounds()
	return min(most, 3)
}
