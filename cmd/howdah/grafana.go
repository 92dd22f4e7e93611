package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/howdah/howdah/deploy"
)

func newGrafana() *cobra.Command {
	small := false
	cmd := &cobra.Command{
		Use:   "grafana",
		Short: "Print a board for Grafana",
		Long: `Print a board that fits the metrics of this version, as JSON. In Grafana, choose
Dashboards, New, Import, and give it this file.

  howdah grafana > howdah.json

The board has all metrics. With --small it has the eleven panels that a team looks at
every day. Grafana can hold both.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			board := deploy.Dashboard()
			if small {
				board = deploy.SmallDashboard()
			}
			_, err := io.WriteString(cmd.OutOrStdout(), board)
			return err
		},
	}
	cmd.Flags().BoolVar(&small, "small", false, "print the small board: what to look at every day")
	return cmd
}
