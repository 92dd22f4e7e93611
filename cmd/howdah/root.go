package main

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "howdah",
		Short: "A cache and session store on PostgreSQL, for Redis clients, HTTP, Go and SQL",
		Long: `Howdah keeps caches and sessions in plain PostgreSQL tables and serves them to
any Redis client, over HTTP, to Go programs and to SQL.

  howdah serve                                      try it: an embedded PostgreSQL, ports 6379 and 8080
  howdah migrate --database-url postgres://...      prepare a database of your own
  howdah serve --database-url postgres://...        serve from it

Flags beat environment variables, which beat defaults.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return applyEnvironment(cmd) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q: run \"howdah help\" for the commands", args[0])
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%s: run \"%s --help\" for the flags", flagError(err), cmd.CommandPath())
	})
	root.AddCommand(
		newServe(), newHealthcheck(), newMigrate(), newMaintain(), newDoctor(), newServers(), newRebalance(),
		newCLI(), newGet(), newSet(), newDel(), newTTL(), newKeys(), newExport(), newImport(), newCompare(),
		newStat(), newTop(), newSlow(), newMonitor(), newBigkeys(), newAlerts(), newGrafana(),
		newSessions(), newCaches(), newConsole(), newURL(), newPsql(),
		newVersion(),
	)
	for _, cmd := range root.Commands() {
		cmd.Args = asUsage(cmd.Args)
	}
	root.Version = version()
	root.SetVersionTemplate(versionText())
	completeDefaults(root)
	addGroups(root)
	return root
}

// completeDefaults lets the commands that Cobra adds refuse what they do not know. By themselves they
// print help and succeed.
func completeDefaults(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				about, rest, err := cmd.Root().Find(args)
				if err != nil || len(rest) > 0 {
					return usagef("unknown command %q: run \"howdah help\" for the commands", strings.Join(args, " "))
				}
				about.InitDefaultHelpFlag() // else the help does not show it
				return about.Help()
			}
		case "completion":
			cmd.Args = cobra.ArbitraryArgs
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				if len(args) > 0 {
					return usagef("there is no completion for %q: give bash, zsh, fish or powershell", args[0])
				}
				return cmd.Help()
			}
		}
	}
}

// flagError is what the flag parser says, without the value that was given:
// that may be a secret.
func flagError(err error) string {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return "--" + invalid.GetFlag().Name + " " + valueError(invalid)
	}
	return err.Error()
}

// valueError says what a value should have been.
func valueError(invalid *pflag.InvalidValueError) string {
	var number *strconv.NumError
	switch cause := invalid.Unwrap(); {
	case !errors.As(cause, &number):
		return cause.Error()
	case invalid.GetFlag().Value.Type() == "bool":
		return "must be true or false"
	case errors.Is(number, strconv.ErrRange):
		return "is out of range"
	default:
		return "must be a whole number"
	}
}

// asUsage makes the errors of an argument check errors of usage.
func asUsage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("usage: %s", cmd.UseLine())
		}
		return nil
	}
}

const (
	envAnnotation    = "howdah_environment"     // the variable of a flag
	setByEnvironment = "howdah_set_environment" // the flag has its value from there
)

// fromEnvironment lets flags be given as HOWDAH_<FLAG> too.
func fromEnvironment(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f := flags.Lookup(name)
		variable := "HOWDAH_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		f.Usage += " (" + variable + ")"
		f.Annotations = map[string][]string{envAnnotation: {variable}}
	}
}

// applyEnvironment sets the flags that were not given from the environment. An
// empty variable counts as unset.
func applyEnvironment(cmd *cobra.Command) error {
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		variables := f.Annotations[envAnnotation]
		if f.Changed || len(variables) == 0 || failed != nil {
			return
		}
		value := os.Getenv(variables[0])
		if value == "" {
			return
		}
		if err := cmd.Flags().Set(f.Name, value); err != nil {
			failed = usagef("the environment variable %s %s", variables[0], strings.TrimPrefix(flagError(err), "--"+f.Name+" "))
		}
		f.Annotations[setByEnvironment] = variables
	})
	return failed
}
