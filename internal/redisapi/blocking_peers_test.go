//go:build peers

package redisapi

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestScenesOfRedis compares the recorded scenes with redis-server, or records them.
func TestScenesOfRedis(t *testing.T) {
	t.Parallel()
	if !*update {
		eachScene(t, func(t *testing.T, sc *scene, proto int) {
			sc.compare(t, proto, newStage(t, startRedis(t), proto).play(sc))
		})
		return
	}
	paths, _ := filepath.Glob(scenesPath + "/*.txt")
	for _, path := range paths {
		var out strings.Builder
		for _, sc := range readScenes(t, path) {
			fmt.Fprintf(&out, "=== %s\n", sc.name)
			two := newStage(t, startRedis(t), 2).play(sc)
			three := newStage(t, startRedis(t), 3).play(sc)
			n := 0
			for _, line := range sc.lines {
				switch {
				case line.answers == nil:
					out.WriteString(line.text + "\n")
					if strings.HasPrefix(line.text, "unblock ") {
						n++
					}
					continue
				case two[n] == three[n]:
					fmt.Fprintf(&out, "%s %q\n", line.text, two[n])
				default:
					fmt.Fprintf(&out, "%s2 %q\n%s3 %q\n", line.text, two[n], line.text, three[n])
				}
				n++
			}
		}
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
