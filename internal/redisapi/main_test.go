package redisapi

import (
	"flag"
	"testing"

	"github.com/howdah/howdah/internal/test/pgtest"
)

// update writes what is generated (docs/commands.md) or recorded (the replies
// of redis-server in testdata, with the build tag peers).
var update = flag.Bool("update", false, "write generated and recorded files")

func TestMain(m *testing.M) { pgtest.Main(m) }
