package backend

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/howdah/howdah/backend/memory"
)

func openMemory(rawURL string) (*memory.Store, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host != "" || u.Path != "" && u.Path != "/" || u.User != nil {
		return nil, errors.New("backend: write memory:// or memory://?max_bytes=67108864")
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("backend: the parameters of the URL cannot be read; write ?name=value&name=value")
	}
	var opts memory.Options
	for name, values := range query {
		value := values[len(values)-1]
		if name == "default_ttl" {
			opts.DefaultTTL, err = time.ParseDuration(value)
			if err != nil || opts.DefaultTTL <= 0 {
				return nil, fmt.Errorf("backend: URL parameter default_ttl is %q, not a positive duration such as 10m", value)
			}
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("backend: URL parameter %s is %q, not a positive number", name, value)
		}
		switch name {
		case "max_bytes":
			opts.MaxBytes = n
		case "max_entries":
			opts.MaxEntries = int(n)
		case "max_value_bytes":
			opts.MaxValueBytes = int(n)
		default:
			return nil, fmt.Errorf("backend: URL parameter %s is not known; use max_bytes, max_entries, max_value_bytes or default_ttl", name)
		}
	}
	return memory.New(&opts)
}
