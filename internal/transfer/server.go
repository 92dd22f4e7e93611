package transfer

import (
	"strconv"
	"strings"
)

// Server is what a Redis server says of itself.
type Server struct {
	Version string
	RunID   string // changes with every start; "": the server does not tell
	Cluster bool   // it is a node of a cluster
	Keys    map[int]int64
	info    map[string]string
}

// Describe asks a server what it is.
func (c *Conn) Describe() (Server, error) {
	reply, err := c.Do("INFO")
	if err != nil {
		return Server{}, err
	}
	info := parseInfo(string(reply.Str))
	s := Server{Version: "Redis " + info["redis_version"], RunID: info["run_id"], Cluster: info["cluster_enabled"] == "1", Keys: map[int]int64{}, info: info}
	if version := info["valkey_version"]; version != "" {
		s.Version = "Valkey " + version
	}
	for name, text := range info {
		number, isDatabase := strings.CutPrefix(name, "db")
		database, err := strconv.Atoi(number)
		if !isDatabase || err != nil {
			continue
		}
		for part := range strings.SplitSeq(text, ",") {
			if keys, ok := strings.CutPrefix(part, "keys="); ok {
				s.Keys[database], _ = strconv.ParseInt(keys, 10, 64)
			}
		}
	}
	return s, nil
}

// parseInfo reads the lines of INFO, name:value.
func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok && !strings.HasPrefix(line, "#") {
			info[name] = value
		}
	}
	return info
}
