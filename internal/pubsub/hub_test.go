package pubsub

import (
	"fmt"
	"math/rand/v2"
	"path"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/howdah/howdah/internal/test/seed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func match(pattern, channel []byte) bool {
	matched, _ := path.Match(string(pattern), string(channel))
	return matched
}

// inbox is a receiver that keeps what it takes.
type inbox struct {
	mu    sync.Mutex
	taken []string
}

func (i *inbox) Deliver(m *Message) {
	i.mu.Lock()
	defer i.mu.Unlock()
	text := fmt.Sprintf("%s: %s", m.Channel, m.Payload)
	switch m.Kind {
	case Pattern:
		text = m.Pattern + " " + text
	case Shard:
		text = "shard " + text
	}
	i.taken = append(i.taken, text)
}

// take returns what has come since the last call.
func (i *inbox) take() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	taken := i.taken
	i.taken = nil
	return taken
}

func publish(h *Hub, kind Kind, channel, payload string) int {
	return h.Publish(kind, []byte(channel), []byte(payload))
}

func TestPublish(t *testing.T) {
	t.Parallel()
	h := New(match)
	var a, b inbox
	require.Zero(t, publish(h, Channel, "news", "1"))
	h.Subscribe(Channel, "news", &a)
	h.Subscribe(Channel, "news", &b)
	h.Subscribe(Pattern, "n*", &b)
	h.Subscribe(Pattern, "ne*", &b)
	h.Subscribe(Shard, "news", &a)
	for range 2 {
		require.Equal(t, 4, h.Receivers(Channel, []byte("news")))
		require.Equal(t, 4, publish(h, Channel, "news", "2"))
		require.Equal(t, []string{"news: 2"}, a.take())
		require.Equal(t, []string{"news: 2", "n* news: 2", "ne* news: 2"}, b.take())
	}
	require.Equal(t, 1, publish(h, Channel, "nothing", "3"))
	require.Equal(t, []string{"n* nothing: 3"}, b.take())
	require.Equal(t, 1, h.Receivers(Shard, []byte("news")))
	require.Equal(t, 1, publish(h, Shard, "news", "4"))
	require.Equal(t, []string{"shard news: 4"}, a.take())
	require.Zero(t, publish(h, Shard, "n*", "5"))
	require.Zero(t, publish(h, Channel, "old", "6"))
	require.Empty(t, a.take())
	require.Empty(t, b.take())
}

func TestEnd(t *testing.T) {
	t.Parallel()
	h := New(match)
	var box inbox
	for kind, name := range map[Kind]string{Channel: "news", Pattern: "n*", Shard: "news"} {
		publishes := max(kind, Channel)
		if kind == Pattern {
			publishes = Channel
		}
		first, second := h.Subscribe(kind, name, &box), h.Subscribe(kind, name, &box)
		require.Equal(t, 2, publish(h, publishes, "news", "1"))
		first.End()
		first.End()
		require.Equal(t, 1, publish(h, publishes, "news", "2"))
		second.End()
		require.Zero(t, publish(h, publishes, "news", "3"))
		third := h.Subscribe(kind, name, &box)
		second.End()
		require.Equal(t, 1, publish(h, publishes, "news", "4"), "the end of an earlier subscription")
		third.End()
	}
	stats := h.Stats()
	require.Zero(t, stats.Names)
	require.Zero(t, stats.Subscriptions)
	require.EqualValues(t, 12, stats.Published)
	require.EqualValues(t, 12, stats.Delivered)
}

func TestFigures(t *testing.T) {
	t.Parallel()
	h := New(match)
	var box inbox
	for _, name := range []string{"a", "b1", "b2", "b2"} {
		h.Subscribe(Channel, name, &box)
	}
	h.Subscribe(Shard, "s", &box)
	h.Subscribe(Pattern, "b*", &box)
	h.Subscribe(Pattern, "b*", &box)
	require.ElementsMatch(t, []string{"a", "b1", "b2"}, h.Names(Channel, nil))
	require.ElementsMatch(t, []string{"b1", "b2"}, h.Names(Channel, []byte("b*")))
	require.Equal(t, []string{"s"}, h.Names(Shard, nil))
	require.Equal(t, 2, h.Subscribers(Channel, []byte("b2")), "patterns do not count")
	require.Zero(t, h.Subscribers(Shard, []byte("b2")))
	stats := h.Stats()
	require.Equal(t, [Kinds]int{3, 1, 1}, stats.Names)
	require.Equal(t, [Kinds]int{4, 2, 1}, stats.Subscriptions)
}

// counter checks that the messages of each publisher come in their order.
type counter struct {
	mu    sync.Mutex
	last  map[byte]int
	wrong string
}

func (c *counter) Deliver(m *Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var publisher byte
	var number int
	fmt.Sscanf(string(m.Payload), "%c %d", &publisher, &number)
	if number != c.last[publisher]+1 {
		c.wrong = fmt.Sprintf("%s after %d", m.Payload, c.last[publisher])
	}
	c.last[publisher] = number
}

func TestOrderOfOnePublisher(t *testing.T) {
	t.Parallel()
	const publishers, messages = 4, 2_000
	h := New(match)
	counters := make([]*counter, 6)
	for i := range counters {
		counters[i] = &counter{last: make(map[byte]int)}
		if i%2 == 0 {
			h.Subscribe(Channel, "channel", counters[i])
		} else {
			h.Subscribe(Pattern, "chan*", counters[i])
		}
	}
	var work sync.WaitGroup
	for p := range publishers {
		work.Go(func() {
			for n := range messages {
				if got := publish(h, Channel, "channel", fmt.Sprintf("%c %d", 'a'+p, n+1)); got != len(counters) {
					t.Errorf("%d receivers", got)
				}
			}
		})
	}
	work.Wait()
	for _, c := range counters {
		require.Empty(t, c.wrong)
		require.Len(t, c.last, publishers)
		for _, last := range c.last {
			require.Equal(t, messages, last)
		}
	}
}

// TestChurn subscribes, publishes and ends at the same time. A receiver takes each
// message that it publishes itself, whatever others do, and nothing is left at the end.
func TestChurn(t *testing.T) {
	t.Parallel()
	chosen := seed.Of(t)
	h := New(match)
	var work sync.WaitGroup
	stop := make(chan struct{})
	var noise sync.WaitGroup
	for range 2 {
		noise.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					publish(h, Channel, "c1", "noise")
					publish(h, Shard, "c1", "noise")
				}
			}
		})
	}
	for g := range 8 {
		r := rand.New(rand.NewPCG(chosen, uint64(g)))
		work.Go(func() {
			for n := range 500 {
				own := fmt.Sprintf("own %d %d", g, n)
				var mine receiver
				mine.want = own
				channel, kind := fmt.Sprintf("c%d", r.IntN(3)), Kind(r.IntN(int(Kinds)))
				name, publishes := channel, kind
				if kind == Pattern {
					name, publishes = channel[:1]+"["+channel[1:]+"]", Channel
				}
				some := []*Subscription{h.Subscribe(kind, name, &mine)}
				for range r.IntN(3) {
					some = append(some, h.Subscribe(kind, name, &mine))
				}
				if got := publish(h, publishes, channel, own); got < len(some) {
					t.Errorf("%d receivers, of which %d are known", got, len(some))
				}
				if got := mine.got.Load(); got != int64(len(some)) {
					t.Errorf("%d messages of %d came", got, len(some))
				}
				r.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
				for _, s := range some {
					s.End()
				}
				publish(h, publishes, channel, own)
				if got := mine.got.Load(); got != int64(len(some)) {
					t.Errorf("a message came after the end")
				}
			}
		})
	}
	work.Wait()
	close(stop)
	noise.Wait()
	stats := h.Stats()
	require.Zero(t, stats.Names)
	require.Zero(t, stats.Subscriptions)
	for i := range h.parts {
		for kind := range Kinds {
			require.Empty(t, h.parts[i].names[kind])
		}
	}
	require.Empty(t, h.patterns.all.all())
}

// receiver counts the messages with one payload.
type receiver struct {
	want string
	got  atomic.Int64
}

func (r *receiver) Deliver(m *Message) {
	if string(m.Payload) == r.want {
		r.got.Add(1)
	}
}

type receiverFunc func(*Message)

func (f receiverFunc) Deliver(m *Message) { f(m) }

// A receiver may end its own subscription and those of others, subscribe and publish
// while it takes a message.
func TestReceiverChangesSubscriptions(t *testing.T) {
	t.Parallel()
	h := New(match)
	var first, second, added *Subscription
	var box, late inbox
	first = h.Subscribe(Channel, "c", receiverFunc(func(m *Message) {
		first.End()
		second.End()
		added = h.Subscribe(Channel, "c", &late)
		if got := publish(h, Channel, "c", "nested"); got != 2 {
			t.Errorf("%d receivers of the nested message", got)
		}
		require.Equal(t, "outer", string(m.Payload), "the message is still that of this delivery")
	}))
	second = h.Subscribe(Channel, "c", &box)
	third := h.Subscribe(Channel, "c", &box)
	require.Equal(t, 2, publish(h, Channel, "c", "outer"))
	require.Equal(t, []string{"c: nested", "c: outer"}, box.take(), "the second had ended when its turn came")
	require.Equal(t, []string{"c: nested"}, late.take(), "a subscription that begins during a delivery takes later messages")
	third.End()
	require.Equal(t, 1, publish(h, Channel, "c", "last"))
	added.End()

	var pattern *Subscription
	pattern = h.Subscribe(Pattern, "c*", receiverFunc(func(*Message) { pattern.End() }))
	require.Equal(t, 1, publish(h, Channel, "c", "1"))
	require.Zero(t, publish(h, Channel, "c", "2"))
	require.Zero(t, h.Stats().Subscriptions)
}

// What one receiver makes of a message serves the others of the name, and no other
// name or message. A large encoding is never overwritten.
func TestEncoded(t *testing.T) {
	t.Parallel()
	h := New(match)
	made := 0
	var kept [][]byte
	encode := receiverFunc(func(m *Message) {
		if len(m.Encoded[1]) == 0 {
			made++
			m.Encoded[1] = append(append(m.Encoded[1], m.Pattern...), m.Payload...)
		}
		if want := m.Pattern + string(m.Payload); string(m.Encoded[1]) != want {
			t.Errorf("%q, want %q", m.Encoded[1], want)
		}
		if len(m.Encoded[0]) != 0 {
			t.Error("an encoding that was not made")
		}
		if cap(m.Encoded[1]) >= Keep {
			kept = append(kept, m.Encoded[1])
		}
	})
	for range 3 {
		h.Subscribe(Channel, "c", encode)
		h.Subscribe(Pattern, "c*", encode)
	}
	publish(h, Channel, "c", "small")
	require.Equal(t, 2, made)
	large := string(make([]byte, Keep))
	publish(h, Channel, "c", large)
	require.Equal(t, 4, made)
	publish(h, Channel, "c", "another")
	require.Equal(t, 6, made)
	require.Len(t, kept, 6)
	for i, k := range kept {
		want := large
		if i >= 3 {
			want = "c*" + large
		}
		require.Equal(t, want, string(k))
	}
}

func TestPublishAllocatesNothing(t *testing.T) {
	h := New(match)
	var count receiver
	h.Subscribe(Channel, "one", &count)
	one, none, payload := []byte("one"), []byte("none"), []byte("payload")
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		h.Publish(Channel, none, payload)
		h.Publish(Channel, one, payload)
	}))
}

// keeper is a receiver that keeps the payloads.
type keeper []string

func (k *keeper) Deliver(m *Message) {
	_, payload := m.Copy()
	*k = append(*k, payload)
}

// Receivers that keep a message share one copy of it.
func TestCopiesAreShared(t *testing.T) {
	t.Parallel()
	h := New(match)
	var a, b keeper
	h.Subscribe(Channel, "c", &a)
	h.Subscribe(Pattern, "?", &b)
	payload := []byte("first")
	h.Publish(Channel, []byte("c"), payload)
	copy(payload, "other")
	h.Publish(Channel, []byte("c"), payload)
	require.Equal(t, keeper{"first", "other"}, a)
	require.Equal(t, a, b)
	for i := range a {
		require.Same(t, unsafe.StringData(a[i]), unsafe.StringData(b[i]))
	}
}
