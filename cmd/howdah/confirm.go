package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// confirmation asks before something is destroyed or locked: the answer is a
// word that is not typed by habit, such as the name of what is removed. The
// question goes to standard error, so that standard output holds results only.
type confirmation struct{ yes bool }

// add adds --yes to a command.
func (c *confirmation) add(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolVar(&c.yes, "yes", false, usage)
}

// ask returns nil if the answer is word, or --yes was given. what names the word
// in the question, and unchanged says what a refusal leaves as it is.
func (c *confirmation) ask(cmd *cobra.Command, what, word, unchanged string) error {
	if c.yes {
		return nil
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "Type %s (%s) to go on: ", what, printable(word))
	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil && err != io.EOF {
		return fmt.Errorf("cannot read the answer: %w", err)
	}
	if err == io.EOF {
		fmt.Fprintln(cmd.ErrOrStderr()) // the answer has not ended the line of the question
	}
	switch strings.TrimSpace(answer) {
	case word:
		return nil
	case "":
		return fmt.Errorf("no answer: %s; give --yes to go on without one", unchanged)
	}
	return fmt.Errorf("that is not %s: %s", what, unchanged)
}
