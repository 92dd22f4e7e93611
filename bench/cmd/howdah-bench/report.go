package main

import (
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/howdah/howdah/bench/internal/claims"
	"github.com/howdah/howdah/bench/internal/experiment"
	"github.com/howdah/howdah/bench/internal/report"
	"github.com/howdah/howdah/bench/internal/result"
)

func writeReport(args []string) error {
	set := flag.NewFlagSet("report", flag.ContinueOnError)
	in := set.String("in", "results", "folder with the results; the newest of each experiment is used")
	document := set.String("document", "../docs/benchmarks.md", "document that receives the numbers")
	claimed := set.String("claims", "../docs/claims.md", "document of the claims, which is written anew")
	readme := set.String("readme", "../README.md", "document that receives the short table; empty for none")
	images := set.String("images", "../docs/img", "folder for the charts")
	if err := set.Parse(args); err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("report takes no arguments, but got %q", set.Args())
	}
	results, err := result.LoadAll(*in)
	if err != nil {
		return err
	}
	if len(results) == 0 {
		return fmt.Errorf("there are no results in %s: run experiments first, or give --in", *in)
	}
	inOrder(results)
	if err := report.Update(*document, *images, results); err != nil {
		return err
	}
	if err := os.WriteFile(*claimed, []byte(claims.Page(results)), 0o644); err != nil {
		return err
	}
	if *readme != "" {
		if err := report.UpdateReadme(*readme, results); err != nil {
			return err
		}
	}
	fmt.Printf("%s and %s hold the results of %d experiments\n", *document, *claimed, len(results))
	return nil
}

// inOrder sorts results as "list" does: what matters to most readers first.
func inOrder(results []*result.Result) {
	place := map[string]int{}
	for i, e := range experiment.All() {
		place[e.Name] = i
	}
	slices.SortStableFunc(results, func(a, b *result.Result) int {
		return place[a.Experiment] - place[b.Experiment]
	})
}
