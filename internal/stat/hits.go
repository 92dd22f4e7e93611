package stat

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
)

// Hits are the keys that the reads of one server found, and did not, by cache,
// since it started; and those that its memory had, and had not.
type Hits map[string][2]float64

// nearHits is the name, which no cache has, under which Hits count the reads that
// memory answered, and those that it could have answered if it had the entry.
const nearHits = ""

// hitLine and nearLine are lines of the metrics of "howdah serve".
var (
	nearLine = regexp.MustCompile(`^howdah_near_(hit|miss)(?:es|s)_total\{\w+="\w+"\} (\S+)$`)
	hitLine  = regexp.MustCompile(`^howdah_keys_total\{cache="([^"]+)",op="read",result="(hit|miss)"\} (\S+)$`)
)

// metricsLimit bounds what is read of a server's metrics.
const metricsLimit = 16 << 20

// ReadHits asks a server for its metrics, at a URL such as
// http://127.0.0.1:8080/metrics; token may be empty.
func ReadHits(ctx context.Context, url, token string) (Hits, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, reply.Status)
	}
	return parseHits(io.LimitReader(reply.Body, metricsLimit))
}

func parseHits(text io.Reader) (Hits, error) {
	hits := make(Hits)
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		cache, result, number := nearHits, "", ""
		if m := hitLine.FindStringSubmatch(lines.Text()); m != nil {
			cache, result, number = m[1], m[2], m[3]
		} else if m := nearLine.FindStringSubmatch(lines.Text()); m != nil {
			result, number = m[1], m[2]
		} else {
			continue
		}
		n, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return nil, err
		}
		sums := hits[cache]
		if result == "hit" {
			sums[0] += n
		} else {
			sums[1] += n
		}
		hits[cache] = sums
	}
	return hits, lines.Err()
}

// HitShares is the share of keys that reads found between two moments, of all
// servers together. A server that is new, or was started again in between,
// counts from its start. Caches that were not read are absent.
func HitShares(before, now []Hits) map[string]float64 {
	sums := make(map[string][2]float64)
	for i, server := range now {
		for cache, n := range server {
			var old [2]float64
			if i < len(before) {
				old = before[i][cache]
			}
			if n[0] < old[0] || n[1] < old[1] {
				old = [2]float64{}
			}
			sum := sums[cache]
			sums[cache] = [2]float64{sum[0] + n[0] - old[0], sum[1] + n[1] - old[1]}
		}
	}
	shares := make(map[string]float64)
	for cache, n := range sums {
		if n[0]+n[1] > 0 {
			shares[cache] = n[0] / (n[0] + n[1])
		}
	}
	return shares
}
