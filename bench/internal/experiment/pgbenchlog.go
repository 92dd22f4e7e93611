package experiment

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/howdah/howdah/bench/internal/measure"
	"github.com/howdah/howdah/bench/internal/service"
)

// pgbenchInit makes and fills pgbench's own tables.
func pgbenchInit(ctx context.Context, url string, scale int) error {
	program, err := service.PgBench.Find()
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, program, "--initialize", "--quiet", "--scale="+strconv.Itoa(scale), url).CombinedOutput()
	if err != nil {
		return fmt.Errorf("pgbench --initialize: %w: %s", err, out)
	}
	return nil
}

// pgbenchLatencies runs pgbench's TPC-B-like transaction and reads the log of
// all transactions. With a rate, latencies count from when a transaction was
// due, as pgbench has it too.
func (b *Bench) pgbenchLatencies(ctx context.Context, seconds, clients int, rate float64) (s measure.Sample, err error) {
	program, url, err := b.pgbenchProgram(ctx)
	if err != nil {
		return s, err
	}
	dir, err := os.MkdirTemp(b.dir, "pgbench-")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	args := []string{"--no-vacuum", "--log", "--log-prefix=" + filepath.Join(dir, "log"), "--client=" + strconv.Itoa(clients),
		"--jobs=" + strconv.Itoa(min(clients, 2)), "--time=" + strconv.Itoa(seconds)}
	if rate > 0 {
		args = append(args, "--rate="+strconv.FormatFloat(rate, 'f', 1, 64))
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second+time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, append(args, url)...).CombinedOutput()
	if err != nil {
		return s, fmt.Errorf("pgbench: %w: %s", err, out)
	}
	answer, err := parsePgbench(string(out))
	if err != nil {
		return s, err
	}
	s = measure.Sample{Requests: answer.transactions, Latency: measure.NewLatency()}
	s.Elapsed = time.Duration(float64(answer.transactions) / answer.tps * float64(time.Second))
	logs, err := filepath.Glob(filepath.Join(dir, "log*"))
	if err != nil {
		return s, err
	}
	for _, path := range logs {
		if err := readPgbenchLog(path, s.Latency); err != nil {
			return s, err
		}
	}
	if got := s.Latency.TotalCount(); got != answer.transactions {
		return s, fmt.Errorf("pgbench made %d transactions and logged %d", answer.transactions, got)
	}
	return s, nil
}

// readPgbenchLog adds the latencies of one file: the third field of each line,
// in microseconds.
func readPgbenchLog(path string, latency *hdrhistogram.Histogram) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 {
			return fmt.Errorf("not a line of pgbench's log: %q", lines.Text())
		}
		us, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return fmt.Errorf("not a line of pgbench's log: %q", lines.Text())
		}
		if err := latency.RecordValue(min(max(1000*us, latency.LowestTrackableValue()), latency.HighestTrackableValue())); err != nil {
			return err
		}
	}
	return errors.Join(lines.Err())
}
