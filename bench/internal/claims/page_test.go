package claims

import (
	"strings"
	"testing"

	"github.com/howdah/howdah/bench/internal/result"
)

func TestPage(t *testing.T) {
	empty := Page(nil)
	for _, a := range All() {
		if !strings.Contains(empty, "## "+a.Title) {
			t.Errorf("%q is missing", a.Title)
		}
		for _, c := range a.Claims {
			if !strings.Contains(empty, c.Text) {
				t.Errorf("%q is missing", c.Text)
			}
		}
	}
	if n := strings.Count(empty, "not measured yet"); n < 20 {
		t.Errorf("without results %d claims are said not to be measured", n)
	}
	r := &result.Result{Experiment: "expiry-index", Quick: true, Verdicts: []result.Verdict{
		{Claim: "Put no index on expires_at", Ours: "half | the speed", Word: result.Confirmed, Sentence: "It is so."},
		{Claim: "Something else", Source: "a figure", Ours: "ours", Word: result.Depends, Sentence: "On what."},
	}}
	page := Page([]*result.Result{r})
	for _, want := range []string{
		`half \| the speed`, "**confirmed**: It is so. (From a quick run.)", "`howdah-bench run expiry-index`",
		"## More of what was measured", "| Something else | a figure | ours |  | **depends**: On what.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing from\n%s", want, page)
		}
	}
	if strings.Count(page, "Put no index on expires_at") != 1 {
		t.Error("a claim is listed twice")
	}
}
