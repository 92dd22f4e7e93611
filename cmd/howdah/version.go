package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// release is set by the linker for releases: -X main.release=1.2.3.
var release string

func newVersion() *cobra.Command {
	var output outputFormat
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := versionJSON{version(), runtime.GOOS, runtime.GOARCH, runtime.Version()}
			return output.print(cmd.OutOrStdout(), v, versionText())
		},
	}
	output.add(cmd)
	return cmd
}

// versionText is what "howdah version" and "howdah --version" print.
func versionText() string {
	return fmt.Sprintf("howdah %s %s/%s %s\n", version(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// versionJSON is what this program is and what it was built for, by what.
type versionJSON struct {
	Version string `json:"version"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Go      string `json:"go"`
}

// version is that of the release, else of the module, else "dev".
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
