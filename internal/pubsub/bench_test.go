package pubsub

import (
	"fmt"
	"strings"
	"testing"
)

// nothing is a receiver that does nothing.
type nothing struct{}

func (*nothing) Deliver(*Message) {}

// subscribed makes a Hub with one receiver for each of n channels.
func subscribed(n int) (h *Hub, channels [][]byte) {
	h = New(func(pattern, channel []byte) bool {
		return strings.HasPrefix(string(channel), strings.TrimSuffix(string(pattern), "*"))
	})
	for i := range n {
		channels = append(channels, fmt.Appendf(nil, "channel:%d", i))
		h.Subscribe(Channel, string(channels[i]), new(nothing))
	}
	return h, channels
}

func BenchmarkPublish(b *testing.B) {
	payload := make([]byte, 100)
	b.Run("to none", func(b *testing.B) {
		h, _ := subscribed(0)
		run(b, func(int) { h.Publish(Channel, []byte("channel:0"), payload) })
	})
	b.Run("to none of 200", func(b *testing.B) {
		h, _ := subscribed(200)
		run(b, func(int) { h.Publish(Channel, []byte("other"), payload) })
	})
	b.Run("to one of 200", func(b *testing.B) {
		h, channels := subscribed(200)
		run(b, func(i int) { h.Publish(Channel, channels[i%200], payload) })
	})
	b.Run("to one of 200 beside 20 patterns", func(b *testing.B) {
		h, channels := subscribed(200)
		for i := range 20 {
			h.Subscribe(Pattern, fmt.Sprintf("other:%d:*", i), new(nothing))
		}
		run(b, func(i int) { h.Publish(Channel, channels[i%200], payload) })
	})
	b.Run("to 1000", func(b *testing.B) {
		h, channels := subscribed(1)
		for range 999 {
			h.Subscribe(Channel, string(channels[0]), new(nothing))
		}
		run(b, func(int) { h.Publish(Channel, channels[0], payload) })
	})
}

func run(b *testing.B, publish func(i int)) {
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			publish(i)
		}
	})
}

// BenchmarkSubscribe subscribes and ends beside many others of the same channel.
func BenchmarkSubscribe(b *testing.B) {
	for _, others := range []int{0, 10_000} {
		b.Run(fmt.Sprint("beside ", others), func(b *testing.B) {
			h, _ := subscribed(1)
			for range others {
				h.Subscribe(Channel, "channel:0", new(nothing))
			}
			run(b, func(int) { h.Subscribe(Channel, "channel:0", new(nothing)).End() })
		})
	}
}
