package transfer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/howdah/howdah/internal/core"
)

// state is how far an import has come, as its file says it. Whatever the file says is done has
// been committed, and is on disk unless the cache is of a class that a crash empties.
type state struct {
	Format    int             `json:"format"`
	Source    string          `json:"source"`
	RunID     string          `json:"run_id"`
	Options   choice          `json:"options"`
	Databases []databaseState `json:"databases"`
	Counts    Counts          `json:"counts"`
	Started   time.Time       `json:"started"`
	Saved     time.Time       `json:"saved"`
}

// choice is the options that decide what is copied where.
type choice struct {
	Match   string `json:"match,omitempty"`
	Type    string `json:"type,omitempty"`
	Replace bool   `json:"replace"`
}

type databaseState struct {
	Number int       `json:"database"`
	Cache  string    `json:"cache"`
	Life   core.Life `json:"life"`
	Cursor string    `json:"cursor"` // of the next SCAN
	Done   bool      `json:"done"`
}

const stateFormat = 1

// loadState reads a state; nil if there is no file.
func loadState(file string) (*state, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := new(state)
	if err := json.Unmarshal(text, s); err != nil || s.Format != stateFormat {
		return nil, fmt.Errorf("%s is no state of an import that this version can go on with: name another file with --state, or remove it to begin again", file)
	}
	return s, nil
}

// encode is the content of the file of a state that is saved now.
func (s *state) encode() ([]byte, error) {
	s.Saved = time.Now().UTC()
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

// replaceFile gives a file another content, by a rename: after a crash it has the old one or
// the new one.
func replaceFile(file string, text []byte) error {
	next := file + ".next"
	if err := writeSynced(next, text); err != nil {
		return err
	}
	if err := os.Rename(next, file); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(file))
}

func writeSynced(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// removeFile removes a file, if it is there, so that it is not there after a crash either.
func removeFile(file string) error {
	err := os.Remove(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return syncFolder(filepath.Dir(file))
}

// syncFolder makes a rename or a removal survive a crash of the machine.
func syncFolder(name string) error {
	folder, err := os.Open(name)
	if err != nil {
		return err
	}
	defer folder.Close()
	_ = folder.Sync() // not every file system can
	return nil
}

// numbers are those of the databases.
func (s *state) numbers() []int {
	list := make([]int, len(s.Databases))
	for i, d := range s.Databases {
		list[i] = d.Number
	}
	return list
}
