package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah/deploy"
)

func newGrafana() *cobra.Command {
	return &cobra.Command{
		Use:   "grafana",
		Short: "Print a board for Grafana",
		Long: `Print a board that fits the metrics of this version, as JSON. In Grafana, choose
Dashboards, New, Import, and give it this file.

  howdah grafana > howdah.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), deploy.Dashboard())
			return err
		},
	}
}
