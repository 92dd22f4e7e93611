package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Trial is the folder, inside that of the results, for those which are not
// good enough to replace the published one. It is not under version control.
const Trial = "trial"

// Save writes a result into a directory, as <experiment>.json, and returns the
// path. It replaces an older result of the experiment. If that one is better
// (see better) it stays, and the new one goes to the folder Trial. A file
// appears whole or not at all.
func Save(dir string, r *Result) (string, error) {
	name := r.Experiment + ".json"
	old, err := Load(filepath.Join(dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", err
	case !r.better(old):
		dir = filepath.Join(dir, Trial)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	text, err := encode(*r)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	temp := path + ".new"
	if err := os.WriteFile(temp, text, 0o644); err != nil {
		return "", err
	}
	return path, os.Rename(temp, path)
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

// LoadAll reads the results of a directory, by name of the experiment.
func LoadAll(dir string) ([]*Result, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json")) // sorted
	if err != nil {
		return nil, err
	}
	var out []*Result
	for _, path := range paths {
		r, err := Load(path)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// better tells whether a result may take the place of another one. A quiet
// machine beats a busy one, a full run a quick one, and three rounds beat
// fewer, whatever their dates; otherwise the newer one is better.
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
