package machine

import (
	"os/exec"
	"runtime/debug"
	"strings"
)

// measured are the libraries whose versions a reader needs, by their names in
// the report.
var measured = map[string]string{
	"github.com/jackc/pgx/v5":                 "pgx",
	"github.com/redis/go-redis/v9":            "go-redis",
	"github.com/redis/rueidis":                "rueidis",
	"github.com/bradfitz/gomemcache":          "gomemcache",
	"github.com/alexedwards/scs/v2":           "scs",
	"github.com/alexedwards/scs/pgxstore":     "scs/pgxstore",
	"github.com/alexedwards/scs/goredisstore": "scs/goredisstore",
	"github.com/HdrHistogram/hdrhistogram-go": "hdrhistogram-go",
}

// Build says of which commit of Howdah this program is, and with which
// libraries it was built.
func Build() map[string]string {
	versions := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return versions
	}
	for _, module := range info.Deps {
		if name, ok := measured[module.Path]; ok {
			versions[name] = module.Version
		}
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	commit, modified := settings["vcs.revision"], settings["vcs.modified"] == "true"
	if commit == "" { // "go run" and "go test" stamp nothing
		commit, modified = gitState()
	}
	if commit != "" {
		versions["Howdah's commit"] = commit
		if modified {
			versions["Howdah's commit"] += ", with changes since"
		}
	}
	return versions
}

// gitState asks git about the source that we are in.
func gitState() (commit string, modified bool) {
	head, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "", false
	}
	changes, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output()
	return strings.TrimSpace(string(head)), err != nil || len(changes) > 0
}
