package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/howdah/howdah/internal/cluster"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pgurl"
)

// spread is up for a database that Citus spreads over several servers.
func (m *migration) spread(ctx context.Context, databaseURL string) error {
	config, err := coordinator(databaseURL)
	if err != nil {
		return err
	}
	result, err := cluster.Prepare(ctx, config, cluster.Options{Partitions: m.partitions, RuntimeRole: m.runtimeRole})
	if err != nil {
		return fault.Unreachable(err)
	}
	for _, s := range result.Servers {
		if err := m.output.print(m.out, preparedJSON(s, result.Partitions, m.runtimeRole), s.Address()+": "+schemaText(s.Result)); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("each cache has %d partitions on %s\n", result.Partitions, serversText(len(result.Servers)))
	if m.runtimeRole != "" {
		text += fmt.Sprintf("role %q may now use the caches\n", m.runtimeRole)
	}
	return m.print(text)
}

// printSpread is printStatus for a database that Citus spreads over several servers.
func (m *migration) printSpread(ctx context.Context, databaseURL string) error {
	config, err := coordinator(databaseURL)
	if err != nil {
		return err
	}
	all, err := cluster.ReadStatus(ctx, config)
	if err != nil {
		return fault.Unreachable(err)
	}
	if m.output.json() {
		return writeJSON(m.out, spreadOf(all))
	}
	home := all[0].Schema
	fmt.Fprintf(m.out, "partitions: %d\n", home.Partitions)
	fmt.Fprintf(m.out, "caches:     %s\n", strings.Join(home.Caches, ", "))
	fmt.Fprintf(m.out, "servers:    %d\n", len(all))
	wrong := false
	for i := range all {
		s := &all[i]
		version := "schema not installed"
		switch {
		case s.Schema.Latest == 0:
			version = "schema not known"
		case s.Schema.Version > 0 && s.Schema.FunctionsCurrent:
			version = fmt.Sprintf("schema version %d of %d", s.Schema.Version, s.Schema.Latest)
		case s.Schema.Version > 0:
			version = fmt.Sprintf("schema version %d of %d, functions outdated", s.Schema.Version, s.Schema.Latest)
		}
		fmt.Fprintf(m.out, "            %s, %s: %s, partitions %s\n", s.Address(), roleText(s.Number), version, numbersText(s.Partitions))
		if s.Problem != "" {
			fmt.Fprintf(m.out, "              %s\n", s.Problem)
		}
		wrong = wrong || s.Problem != "" || len(s.Schema.Pending) > 0 || !s.Schema.FunctionsCurrent
	}
	toDo := "nothing"
	if wrong {
		toDo = "howdah migrate --citus"
	}
	fmt.Fprintf(m.out, "to do:      %s\n", toDo)
	return nil
}

// roleText is what a server is to the others, by its number.
func roleText(number int) string {
	if number == 0 {
		return "coordinator"
	}
	return "worker"
}

// preparedJSON is what was done on one server.
func preparedJSON(s cluster.Prepared, partitions int, role string) migratedJSON {
	return migratedJSON{
		From: s.From, To: s.To, Applied: append([]string{}, s.Applied...), FunctionsReplaced: s.FunctionsReplaced,
		Partitions: partitions, RuntimeRole: role, Server: s.Address(), Number: &s.Number,
	}
}

func serversText(number int) string {
	if number == 1 {
		return "1 server"
	}
	return fmt.Sprintf("%d servers", number)
}

// coordinator is how to connect to the coordinator of Citus. Other servers are reached in the
// same way.
func coordinator(databaseURL string) (*pgx.ConnConfig, error) {
	if _, pooler, err := pgurl.SplitPooler(databaseURL); err == nil && pooler != "" {
		return nil, usageError{errors.New("the servers of Citus are changed over connections of their own: name the coordinator in the database URL, without pooler=transaction")}
	}
	config, err := pgurl.Config(databaseURL)
	if err != nil {
		return nil, usageError{fmt.Errorf("--database-url is not valid (want postgres://user@host:5432/database): %w", err)}
	}
	return config, nil
}
