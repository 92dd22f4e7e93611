package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah/deploy"
)

func newAlerts() *cobra.Command {
	return &cobra.Command{
		Use:   "alerts",
		Short: "Print alerts for Prometheus",
		Long: `Print the recording rules and alerts that fit the metrics of this version, as a
file of rules for Prometheus. docs/operations.md says what to do about each alert.

  howdah alerts > /etc/prometheus/howdah.rules.yml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), deploy.Rules())
			return err
		},
	}
}
