package main

import (
	"errors"
	"fmt"

	"github.com/howdah/howdah/bench/internal/experiment"
)

func list(args []string) error {
	if len(args) > 0 {
		return errors.New("list takes no arguments")
	}
	for _, e := range experiment.All() {
		fmt.Printf("%-18s %s\n", e.Name, e.Title)
		if err := e.Missing(experiment.Options{}); err != nil {
			fmt.Printf("%-18s cannot run here: %v\n", "", err)
		}
	}
	return nil
}
