package main

import (
	"context"

	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/howdah/howdah"
	"github.com/howdah/howdah/internal/embedded"
	"github.com/howdah/howdah/internal/fault"
	"github.com/howdah/howdah/internal/pgurl"
	"github.com/howdah/howdah/migrate"
)

// migration is what the flags of "howdah migrate" ask for.
type migration struct {
	database       databaseFlags
	status         bool
	dryRun         bool // --print
	runtimeRole    string
	allowDatabases bool
	partitions     int
	near           bool
	citus          bool
	uninstall      bool
	confirm        confirmation
	output         outputFormat

	out io.Writer
}

func newMigrate() *cobra.Command {
	var m migration
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Install, upgrade, check or remove the schema in a database",
		Long: `Install the schema in a database, or bring it up to date. This is the only
command that changes a schema (and "howdah serve --migrate"). It is one
transaction, needs no superuser and no extension, and may run any number of
times, also from several machines at once.

Connect as the owner of the database: that role will own the caches. Applications
may use a role with fewer privileges. --runtime-role grants them to it, once the
schema is up to date.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m.out = cmd.OutOrStdout()
			return m.run(cmd)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&m.database.url, "database-url", "", "PostgreSQL to prepare, as the owner of the database")
	f.BoolVar(&m.status, "status", false, "print what is installed and what is missing, and change nothing")
	f.BoolVar(&m.dryRun, "print", false, "print the SQL that would run, and change nothing; with --runtime-role: also that of the grants")
	f.StringVar(&m.runtimeRole, "runtime-role", "", "then grant this existing role what applications need, and no more")
	f.BoolVar(&m.allowDatabases, "allow-databases", false, "with --runtime-role: let the role create the caches db1 to db15 when a Redis client selects them")
	f.IntVar(&m.partitions, "partitions", 0, "then divide the keys of each cache into `number` partitions (2, 4, 8, 16, 32 or 64), while there are no entries; once, it cannot be changed")
	f.BoolVar(&m.near, "near", false, "then give every cache a change log, so that programs may answer hot keys from memory (docs/near.md); turned off by \"howdah caches alter NAME --near=false\"")
	f.BoolVar(&m.citus, "citus", false, "do it on all servers that Citus knows, and have Citus place the partitions on them; with --status: say how they are; connect to the coordinator, not through a pooler")
	f.BoolVar(&m.uninstall, "uninstall", false, "remove the schema with all caches and sessions, after asking; with --print: only list what would be removed")
	m.confirm.add(cmd, "with --uninstall: do not ask")
	f.StringVar(&m.database.dataDir, "data-dir", "", "with --status and without --database-url: the --data-dir of a running \"howdah serve\" (default "+defaultDir(embedded.DefaultDataDir)+")")
	fromEnvironment(f, "database-url", "data-dir")
	m.output.add(cmd)
	return cmd
}

func (m *migration) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	actions := 0
	for _, given := range []bool{m.status, m.runtimeRole != "", m.uninstall} {
		if given {
			actions++
		}
	}
	switch {
	case actions > 1, m.dryRun && m.status:
		return usagef("give one of --status, --runtime-role and --uninstall; --print goes with the last two")
	case cmd.Flags().Changed("partitions") && (m.status || m.uninstall):
		return usagef("--partitions does not go with --status and --uninstall")
	case cmd.Flags().Changed("partitions") && m.partitions == 0:
		return usagef("--partitions wants 2, 4, 8, 16, 32 or 64; without it a database keeps the partitions that it has, and a new one has none")
	case m.partitions != 0 && migrate.CheckPartitions(m.partitions) != nil:
		return usageError{migrate.CheckPartitions(m.partitions)}
	case m.citus && (m.uninstall || m.dryRun):
		return usagef("--citus does not go with --print and --uninstall")
	case m.near && (m.status || m.uninstall || m.dryRun):
		return usagef("--near does not go with --status, --print and --uninstall; its SQL is SELECT howdah.alter_cache(name, near => true) FROM howdah.caches()")
	case m.citus && m.allowDatabases:
		return usagef("--allow-databases does not go with --citus: only the owner of the schema makes caches on several servers")
	case m.allowDatabases && m.runtimeRole == "":
		return usagef("--allow-databases belongs to --runtime-role")
	case m.confirm.yes && !m.uninstall:
		return usagef("--yes belongs to --uninstall")
	case m.database.url == "" && m.dryRun && !m.uninstall:
		text, err := migrate.Script(m.options())
		if err != nil {
			return err
		}
		return m.write(text)
	case m.database.url == "" && !m.status:
		return usagef("which database? give --database-url postgres://user@host:5432/database, or set HOWDAH_DATABASE_URL")
	}
	databaseURL, err := m.database.find()
	if err != nil {
		return err
	}
	switch {
	case m.citus && m.status:
		return m.printSpread(ctx, databaseURL)
	case m.citus:
		if err := m.spread(ctx, databaseURL); err != nil {
			return err
		}
		return m.keepLogs(ctx, databaseURL)
	}
	conn, err := connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	switch {
	case m.status:
		return m.printStatus(ctx, conn)
	case m.uninstall:
		return m.remove(cmd, conn)
	case m.dryRun:
		text, err := migrate.Print(ctx, conn, m.options())
		if err != nil {
			return err
		}
		return m.write(text)
	}
	if err := m.up(ctx, conn); err != nil {
		return err
	}
	return m.keepLogs(ctx, databaseURL)
}

func (m *migration) options() migrate.Options { return migrate.Options{Partitions: m.partitions} }

// connect opens one connection that works behind every pooler.
func connect(ctx context.Context, databaseURL string) (*pgx.Conn, error) {
	config, err := pgurl.Config(databaseURL)
	if err != nil {
		return nil, usageError{fmt.Errorf("--database-url is not valid (want postgres://user@host:5432/database): %w", err)}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fault.Unreachable(err)
	}
	return conn, nil
}

func (m *migration) up(ctx context.Context, conn *pgx.Conn) error {
	if m.runtimeRole != "" {
		if err := migrate.CheckRole(ctx, conn, m.runtimeRole); err != nil {
			return err
		}
	}
	result, err := migrate.Up(ctx, conn, m.options())
	if err != nil {
		return err
	}
	done := migratedJSON{From: result.From, To: result.To, Applied: append([]string{}, result.Applied...), FunctionsReplaced: result.FunctionsReplaced, Partitions: result.Partitions}
	if m.runtimeRole == "" {
		return m.output.print(m.out, done, migratedText(result))
	}
	if result.From != result.To || result.FunctionsReplaced || result.Divided { // else the line about the grant says all
		if err := m.print(migratedText(result)); err != nil {
			return err
		}
	}
	if err := migrate.GrantRuntime(ctx, conn, m.runtimeRole, m.allowDatabases); err != nil {
		return err
	}
	done.RuntimeRole = m.runtimeRole
	return m.output.print(m.out, done, fmt.Sprintf("role %q may now use the caches\n", m.runtimeRole))
}

// keepLogs gives the caches that have none a change log, if --near asks for it.
func (m *migration) keepLogs(ctx context.Context, databaseURL string) error {
	if !m.near {
		return nil
	}
	db, err := howdah.Open(ctx, databaseURL, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	caches, err := db.Caches(ctx)
	if err != nil {
		return err
	}
	for _, cache := range caches {
		if cache.Near {
			continue
		}
		change := howdah.CacheConfig{Name: cache.Name, Near: true}
		if err := db.AlterCache(ctx, change, howdah.AlterOptions{Only: []string{"near"}}); err != nil {
			return fmt.Errorf("cache %q has no change log yet, and is otherwise as it was: %w", cache.Name, err)
		}
	}
	return m.print("every cache has a change log: programs may answer hot keys from memory\n")
}

// print writes text where text is wanted.
func (m *migration) print(text string) error {
	if m.output.json() {
		return nil
	}
	_, err := io.WriteString(m.out, text)
	return err
}

func migratedText(result migrate.Result) string {
	if result.Divided {
		return schemaText(result) + fmt.Sprintf("divided the keys of each cache into %d partitions\n", result.Partitions)
	}
	return schemaText(result)
}

// schemaText says what became of the schema.
func schemaText(result migrate.Result) string {
	switch {
	case result.From == 0:
		return fmt.Sprintf("installed schema version %d\n", result.To)
	case len(result.Applied) > 0:
		return fmt.Sprintf("upgraded the schema from version %d to %d\n", result.From, result.To)
	case result.FunctionsReplaced:
		return fmt.Sprintf("replaced the SQL functions; the schema stays at version %d\n", result.To)
	}
	return fmt.Sprintf("nothing to do: the schema is at version %d\n", result.To)
}

func (m *migration) printStatus(ctx context.Context, conn *pgx.Conn) error {
	status, err := migrate.ReadStatus(ctx, conn)
	if err != nil {
		return err
	}
	if m.output.json() {
		return writeJSON(m.out, statusOf(status))
	}
	if status.Version == 0 {
		fmt.Fprintln(m.out, "schema:     not installed")
	} else {
		fmt.Fprintf(m.out, "schema:     version %d of %d\n", status.Version, status.Latest)
		for _, a := range status.Applied {
			fmt.Fprintf(m.out, "            %03d_%s, %s\n", a.Version, a.Name, a.At)
		}
		state := "current"
		if !status.FunctionsCurrent {
			state = "outdated"
		}
		fmt.Fprintf(m.out, "functions:  version %d, %s\n", status.Functions, state)
		fmt.Fprintf(m.out, "caches:     %s\n", strings.Join(status.Caches, ", "))
		if status.Partitions > 0 {
			fmt.Fprintf(m.out, "partitions: %d\n", status.Partitions)
		}
		if len(status.Watches) > 0 {
			fmt.Fprintf(m.out, "watches:    %s\n", strings.Join(status.Watches, ", "))
		}
	}
	if len(status.Pending) > 0 || !status.FunctionsCurrent {
		fmt.Fprintln(m.out, "to do:      howdah migrate")
		for _, name := range status.Pending {
			fmt.Fprintf(m.out, "            %s\n", name)
		}
	} else {
		fmt.Fprintln(m.out, "to do:      nothing")
	}
	return nil
}

// write writes SQL, with that of the grants if they were asked for.
func (m *migration) write(script string) error {
	if m.runtimeRole != "" {
		script += migrate.GrantScript(m.runtimeRole, m.allowDatabases)
	}
	return m.output.print(m.out, map[string]string{"sql": script}, script)
}

// remove shows what would go and asks for the name of the database.
func (m *migration) remove(cmd *cobra.Command, conn *pgx.Conn) error {
	ctx := cmd.Context()
	objects, err := migrate.Objects(ctx, conn)
	if err != nil {
		return err
	}
	database := conn.Config().Database
	if m.dryRun {
		return m.list(objects)
	}
	status, err := migrate.ReadStatus(ctx, conn)
	if err != nil {
		return err
	}
	warning := fmt.Sprintf("This removes from database %s the schema howdah (%s), with all sessions and these caches:\n\n",
		database, counted(objects))
	for _, name := range status.Caches {
		warning += "  " + name + "\n"
	}
	if err := m.print(warning + "\nThis cannot be undone.\n"); err != nil {
		return err
	}
	if err := m.confirm.ask(cmd, "the name of the database", database, "nothing was removed"); err != nil {
		return err
	}
	// What is in the schema and not Howdah's is refused by Uninstall, by name.
	if _, err := migrate.Uninstall(ctx, conn, false); err != nil {
		return err
	}
	return m.output.print(m.out, removedJSON{database, append([]string{}, status.Caches...)}, "\nremoved; roles that you made stay\n")
}

// list prints what would be removed.
func (m *migration) list(objects []migrate.Object) error {
	for _, o := range objects {
		if err := m.output.print(m.out, objectJSON{o.Kind, o.Name}, fmt.Sprintln(o)); err != nil {
			return err
		}
	}
	return nil
}

// counted says how many objects of each kind there are.
func counted(objects []migrate.Object) string {
	var kinds []string
	number := make(map[string]int)
	for _, o := range objects {
		if number[o.Kind] == 0 {
			kinds = append(kinds, o.Kind)
		}
		number[o.Kind]++
	}
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%d %ss", number[kind], kind)
		if number[kind] == 1 {
			kinds[i] = "1 " + kind
		}
	}
	return strings.Join(kinds, ", ")
}
