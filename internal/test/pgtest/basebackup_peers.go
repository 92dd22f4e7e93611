//go:build peers

package pgtest

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// PgBaseBackup is Backup by the distribution's pg_basebackup of the server's
// version, as an administrator makes it. A missing program fails the test.
func (s *Server) PgBaseBackup() *Backup {
	s.t.Helper()
	program := filepath.Join("/usr/lib/postgresql", strconv.Itoa(s.Major()), "bin/pg_basebackup")
	if _, err := os.Stat(program); err != nil {
		var missing error
		if program, missing = exec.LookPath("pg_basebackup"); missing != nil {
			s.t.Fatalf("pgtest: install the client programs of PostgreSQL %d: %v", s.Major(), err)
		}
	}
	b := s.newBackup()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "--checkpoint=fast", "--wal-method=stream", "--pgdata="+b.cluster(),
		"--dbname="+s.SuperURL()).CombinedOutput()
	if err != nil {
		s.t.Fatalf("pgtest: pg_basebackup: %v: %s", err, out)
	}
	original, err := os.Stat(filepath.Join(s.dir, clusterName))
	s.must(err)
	s.must(filepath.WalkDir(b.cluster(), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return ownLike(path, original)
	}))
	return b
}
