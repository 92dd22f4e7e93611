package handover

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func fakeRun(t *testing.T, m mutant) *run {
	s := &store{mutant: m, keys: make(map[string][]string)}
	r := newRun(t, startFake(t, "first", s), startFake(t, "second", s))
	if m == loses || m == sleeps { // their clients may wait in vain
		r.patience = 2 * time.Second
	}
	return r
}

// Servers without a fault keep their promises, whatever becomes of the clients.
func TestSoundServers(t *testing.T) {
	t.Parallel()
	v := fakeRun(t, sound).fire(1500)
	v.check(t)
	require.Greater(t, v.Compared, 50)
}

// Each fault is found by the rule that it breaks, from the clients to the judge.
func TestMutants(t *testing.T) {
	t.Parallel()
	for m, rules := range map[mutant][]Rule{
		twice: {Twice, Order}, loses: {Lost, Asleep}, newest: {Order}, halfMoves: {Moved, Lost}, refuses: {Ghost}, sleeps: {Asleep, Order},
	} {
		t.Run(string(m), func(t *testing.T) {
			t.Parallel()
			v := fakeRun(t, m).fire(1500)
			for _, rule := range rules[:1] {
				require.NotEmpty(t, v.Broken[rule], "%v", v.Broken)
			}
			for rule := range v.Broken {
				require.Contains(t, rules, rule, v.Broken[rule][0])
			}
		})
	}
}
