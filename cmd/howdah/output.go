package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// The formats of --output.
const (
	textOutput = "text"
	jsonOutput = "json"
)

// outputFormat is the value of --output: what a command prints, on standard
// output and, if it fails, on standard error.
type outputFormat struct{ name string }

// add adds --output to a command.
func (f *outputFormat) add(cmd *cobra.Command) {
	f.name = textOutput
	cmd.Flags().Var(f, "output", "format of what is printed, errors included: text or json")
	mustComplete(cmd, "output", cobra.FixedCompletions([]string{textOutput, jsonOutput}, cobra.ShellCompDirectiveNoFileComp))
}

// addAlias adds --json, which is short for --output json.
func (f *outputFormat) addAlias(cmd *cobra.Command) {
	cmd.Flags().VarPF((*jsonFlag)(f), "json", "", "the same as --output json").NoOptDefVal = "true"
}

// Type implements pflag.Value.
func (*outputFormat) Type() string { return "format" }

// String implements pflag.Value.
func (f *outputFormat) String() string { return f.name }

// Set implements pflag.Value.
func (f *outputFormat) Set(text string) error {
	if text != textOutput && text != jsonOutput {
		return errors.New("must be text or json")
	}
	f.name = text
	return nil
}

// json says whether JSON is wanted.
func (f *outputFormat) json() bool { return f.name == jsonOutput }

// print writes value as one line of JSON, or else the text.
func (f *outputFormat) print(out io.Writer, value any, text string) error {
	if f.json() {
		return writeJSON(out, value)
	}
	_, err := io.WriteString(out, text)
	return err
}

// jsonFlag is --json: an outputFormat as a switch.
type jsonFlag outputFormat

// Type implements pflag.Value.
func (*jsonFlag) Type() string { return "bool" }

// String implements pflag.Value. It is "" for no, so that the help text shows no
// default.
func (f *jsonFlag) String() string {
	if f.name == jsonOutput {
		return "true"
	}
	return ""
}

// Set implements pflag.Value.
func (f *jsonFlag) Set(text string) error {
	on, err := strconv.ParseBool(text)
	switch {
	case err != nil:
		return errors.New("must be true or false")
	case on:
		f.name = jsonOutput
	default:
		f.name = textOutput
	}
	return nil
}

// writeJSON writes a value as one line.
func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// failure is what a command that failed says on standard error with --output
// json.
type failure struct {
	Error    string `json:"error"`     // one sentence
	ExitCode int    `json:"exit_code"` // as in the documentation of the command
}

// wantsJSON says whether a command line asks for JSON. One that could not be read
// to its end is searched for the words that ask.
func wantsJSON(cmd *cobra.Command, args []string) bool {
	flag := cmd.Flags().Lookup("output")
	switch {
	case flag == nil:
		return false
	case flag.Value.String() == jsonOutput:
		return true
	case flag.Changed:
		return false
	}
	last := slices.Index(args, "--output")
	return slices.Contains(args, "--output="+jsonOutput) || last >= 0 && last+1 < len(args) && args[last+1] == jsonOutput
}

// report writes an error, as one line of JSON or for people.
func report(errOut io.Writer, asJSON bool, err error, code int) {
	message := oneLine(err)
	if asJSON {
		_ = writeJSON(errOut, failure{Error: message, ExitCode: code})
		return
	}
	fmt.Fprintln(errOut, "howdah:", message)
}

// binary writes bytes for JSON, as the HTTP interface does: as they are, with
// the encoding "", if all of them are text, else all of them in base64.
func binary(parts ...[]byte) (texts []string, encoding string) {
	write := func(b []byte) string { return string(b) }
	for _, part := range parts {
		if !utf8.Valid(part) {
			encoding, write = "base64", base64.StdEncoding.EncodeToString
		}
	}
	for _, part := range parts {
		texts = append(texts, write(part))
	}
	return texts, encoding
}

// mustComplete registers the completion of a flag. It fails only for a flag that
// the command does not have, which is a mistake of the program.
func mustComplete(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err)
	}
}
