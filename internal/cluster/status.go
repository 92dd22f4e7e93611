package cluster

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/migrate"
)

// Status is a server and the schema on it.
type Status struct {
	State
	Schema migrate.Status // zero where it could not be read; then Problem says why
}

// ReadStatus tells which schema each server has, whatever its version, and how they differ. It
// changes nothing. A server that does not answer is no error. Errors: ErrUnfit of the
// coordinator, or the database's own.
func ReadStatus(ctx context.Context, config *pgx.ConnConfig) ([]Status, error) {
	c, err := Open(ctx, config)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var places map[int][]int
	home, unknown := readFacts(ctx, c.home())
	if unknown == nil {
		if places, err = c.places(ctx); err != nil {
			return nil, err
		}
	}
	all := make([]Status, len(c.servers))
	for i, s := range c.servers {
		of := &all[i]
		of.State = State{Server: *s, Partitions: append([]int{}, places[s.Number]...)}
		if unknown == nil {
			c.judge(ctx, s, home, &of.State)
		} else if i == 0 {
			of.Problem = "it has no schema of this version: " + repair
		}
		c.readSchema(ctx, s, of)
	}
	if unknown == nil && len(places) == 0 {
		all[0].Problem = "its partitions have no place: " + repair
	}
	return all, nil
}

// readSchema reads which schema a server has.
func (c *Cluster) readSchema(ctx context.Context, s *Server, of *Status) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err := c.reach(ctx, s)
	if err == nil {
		of.Schema, err = migrate.ReadStatus(ctx, s.conn)
	}
	if err != nil && of.Problem == "" {
		of.Problem = "it does not answer: " + fault.OneLine(err).Error()
	}
}
