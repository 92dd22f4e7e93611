package main

import (
	"fmt"
	"time"

	"github.com/howdah/howdah/bench/internal/experiment"
)

// plan is what "run" means to do, and how far it is.
type plan struct {
	chosen []experiment.Experiment
	quick  bool
	start  time.Time
}

// print says what will run and how long it is going to take.
func (p *plan) print() {
	if len(p.chosen) < 2 {
		return
	}
	fmt.Printf("%d experiments, about %s:\n", len(p.chosen), minutes(p.remaining(0)))
	for _, e := range p.chosen {
		fmt.Printf("  %-18s %s\n", e.Name, minutes(e.Budget(p.quick)))
	}
}

// remaining is the time that experiment i and those after it are given.
func (p *plan) remaining(i int) (sum time.Duration) {
	for _, e := range p.chosen[i:] {
		sum += e.Budget(p.quick)
	}
	return sum
}

// heading announces experiment i.
func (p *plan) heading(i int) string {
	e := p.chosen[i]
	if len(p.chosen) < 2 {
		return fmt.Sprintf("%s: %s", e.Name, e.Title)
	}
	return fmt.Sprintf("[%d/%d, %s passed, about %s left] %s: %s", i+1, len(p.chosen),
		minutes(time.Since(p.start)), minutes(p.remaining(i)), e.Name, e.Title)
}

// minutes writes a duration as people say it.
func minutes(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}
