package worker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/howdah/howdah/bench/internal/machine"
	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/rival"
	"github.com/howdah/howdah/bench/internal/workload"
)

// Job is the share of one process in a load.
type Job struct {
	Rival      string // one of the names in package rival
	Target     string // URL or address of its server
	Pool       int    // connections of plain pgx, idle ones of gomemcache
	Cache      string // of Howdah
	BatchKeys  int    // bound of Howdah's batches; 0: its own
	Cores      []int  // process i runs on core i of these; empty: anywhere
	Spec       workload.Spec
	Reads      float64 // share of reads
	Goroutines int
	Warmup     time.Duration
	Duration   time.Duration
}

// Open makes the client that a job asks for.
func (j Job) Open(ctx context.Context) (rival.Rival, error) {
	switch j.Rival {
	case rival.HowdahName:
		return rival.NewHowdahBatches(ctx, j.Target, j.Cache, j.BatchKeys)
	case rival.GoRedisName:
		return rival.NewGoRedis(j.Target, 0), nil
	case rival.RueidisName:
		return rival.NewRueidis(j.Target)
	case rival.MemcachedName:
		return rival.NewMemcached(j.Target, j.Pool), nil
	case rival.PgxName:
		return rival.NewPgx(ctx, j.Target, j.Pool)
	}
	return nil, fmt.Errorf("there is no rival %q", j.Rival)
}

// Report is what one process measured.
type Report struct {
	Requests   int64
	Elapsed    time.Duration
	Latency    []byte  // an encoded histogram of nanoseconds
	CPUSeconds float64 // of the process, in the measured time
	Batches    uint64  // Howdah's statements, warm-up included
	Keys       float64 // in those statements
}

// ready is what a worker says once it is connected.
type ready struct{ Ready bool }

// begin is what it then waits for.
type begin struct{ Begin bool }

// load runs one job.
func load(ctx context.Context, in *bufio.Reader, out io.Writer) error {
	var job Job
	if err := readLine(in, &job); err != nil {
		return err
	}
	r, err := job.Open(ctx)
	if err != nil {
		return err
	}
	defer r.Close()
	sources := workload.NewSources(job.Spec, job.Goroutines)
	if err := rival.Do(ctx, r, job.Spec, sources[0], 1); err != nil { // connects
		return err
	}
	if err := writeLine(out, ready{true}); err != nil {
		return err
	}
	var start begin
	if err := readLine(in, &start); err != nil {
		return err
	}
	var report Report
	var before float64
	s, err := measure.Closed(ctx, measure.Load{
		Workers: job.Goroutines, Warmup: job.Warmup, Duration: job.Duration,
		Do:    func(ctx context.Context, w int) error { return rival.Do(ctx, r, job.Spec, sources[w], job.Reads) },
		Begin: func() { before = machine.Self().CPUSeconds() },
		End:   func() { report.CPUSeconds = machine.Self().CPUSeconds() - before },
	})
	if err != nil && !errors.Is(err, measure.ErrNoAnswer) { // the others may have had answers
		return err
	}
	report.Requests, report.Elapsed = s.Requests, s.Elapsed
	if report.Latency, err = s.Latency.Encode(hdrhistogram.V2CompressedEncodingCookieBase); err != nil {
		return err
	}
	if h, ok := r.(*rival.Howdah); ok {
		n := h.Counts()
		if err := n.CheckAllHits(); err != nil {
			return err
		}
		report.Batches, report.Keys = n.Batches, n.Keys
	}
	return writeLine(out, report)
}

// Together runs a job in n processes at once and merges what they measured.
// begin and end are called around the measured time.
func Together(n int, job Job, begins, ends func()) (measure.Sample, Report, error) {
	var sum Report
	sample := measure.Sample{Latency: measure.NewLatency()}
	workers := make([]*process, 0, n)
	defer func() {
		for _, w := range workers {
			w.stop()
		}
	}()
	for i := range n {
		core := anywhere
		if len(job.Cores) > 0 {
			core = job.Cores[i%len(job.Cores)]
		}
		w, err := start(roleLoad, core)
		if err != nil {
			return sample, sum, err
		}
		workers = append(workers, w)
		job.Spec.Seed = uint64(i) + 1 // each asks for other keys
		if err := w.tell(job); err != nil {
			return sample, sum, err
		}
	}
	for _, w := range workers {
		if err := w.hear(&ready{}); err != nil {
			return sample, sum, err
		}
	}
	for _, w := range workers {
		if err := w.tell(begin{true}); err != nil {
			return sample, sum, err
		}
	}
	time.Sleep(job.Warmup)
	begins()
	time.Sleep(job.Duration)
	ends()
	for _, w := range workers {
		var r Report
		if err := w.hear(&r); err != nil {
			return sample, sum, err
		}
		latency, err := hdrhistogram.Decode(r.Latency)
		if err != nil {
			return sample, sum, err
		}
		sample.Latency.Merge(latency)
		sample.Requests += r.Requests
		sample.Elapsed = max(sample.Elapsed, r.Elapsed)
		sum.CPUSeconds += r.CPUSeconds
		sum.Batches += r.Batches
		sum.Keys += r.Keys
	}
	if sample.Requests == 0 {
		return sample, sum, errors.New("no process had an answer")
	}
	return sample, sum, nil
}
