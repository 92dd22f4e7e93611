package arrows_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The rule of clocks, applied to made-up statements: it must be able to fail.
func TestTimingsAreFound(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		"time.Sleep(time.Second)":                                 doNotSleep,
		"pause := time.Sleep; pause(1)":                           doNotSleep,
		"<-time.After(time.Second)":                               doNotSleep,
		"select { case <-time.After(d): case <-done: }":           "",
		"bubble.Pass(time.Second)":                                "",
		"require.Never(t, f, d, d)":                               doNotLinger,
		"require.Eventually(t, f, 10*time.Second, d)":             doNotHurry,
		"require.Eventuallyf(t, f, time.Second, d, \"\")":         doNotHurry,
		"require.Eventually(t, f, time.Minute, d)":                "",
		"require.Eventually(t, f, patience, d)":                   "",
		"require.Less(t, time.Since(a), d)":                       doNotMeasure,
		"require.Less(t, time.Now().Sub(a), d)":                   doNotMeasure,
		"assert.LessOrEqual(t, time.Since(a).Seconds(), 1.0)":     doNotMeasure,
		"require.Less(t, float64(time.Since(a)), 1.0)":            doNotMeasure,
		"took := time.Since(a) / 2; require.Less(t, took, d)":     doNotMeasure,
		"require.InDelta(t, d, time.Since(a), d)":                 doNotMeasure,
		"require.Greater(t, d, time.Since(a))":                    doNotMeasure,
		"require.True(t, ok && time.Since(a) < d)":                doNotMeasure,
		"require.False(t, time.Since(a) > d)":                     doNotMeasure,
		"if took := time.Since(a); took > d { t.Errorf(took) }":   doNotMeasure,
		"if d < time.Since(a) { t.Fatal() }":                      doNotMeasure,
		"require.GreaterOrEqual(t, time.Since(a), d)":             "", // a slow machine does not break a lower bound
		"require.True(t, time.Since(a) >= d)":                     "",
		"if time.Since(a) < d { t.Fatal() }":                      "",
		"if time.Since(a) > d { return }":                         "",
		"for time.Since(a) < d { work() }":                        "",
		"require.LessOrEqual(t, n, time.Since(a).Seconds()*rate)": "", // the slower the machine, the more is allowed
		"require.Less(t, bubble.Since(a), d)":                     "",
	} {
		found, err := timings("a_test.go", "package a\n\nfunc f() {\n"+statement+"\n}\n")
		require.NoError(t, err)
		if want == "" {
			require.Empty(t, found, statement)
		} else {
			require.Equal(t, []timing{{"a_test.go", 4, want}}, found, statement)
		}
	}
}

func TestTimingsNeedAReason(t *testing.T) {
	t.Parallel()
	found := []timing{{"a_test.go", 4, doNotSleep}}
	require.Equal(t, []string{"a_test.go:4: " + doNotSleep + "; or enter the file in timedOnPurpose of internal/test/arrows/clock_test.go with the reason"},
		checkTimings(found, nil))
	require.Empty(t, checkTimings(found, map[string]string{"a_test.go": "a reason"}))
	require.Equal(t, []string{"a_test.go: it does not depend on time any more; remove it from timedOnPurpose of internal/test/arrows/clock_test.go"},
		checkTimings(nil, map[string]string{"a_test.go": "a reason"}))
}
