package server

import (
	"github.com/howdah/howdah/internal/bus"
	"github.com/howdah/howdah/internal/pubsub"
)

// The metrics of messages. docs/operations.md knows them by these names.
var (
	channelsDesc      = describe("pubsub_channels", "Channels, patterns and shard channels that have subscriptions in this process.", "kind")
	subscriptionsDesc = describe("pubsub_subscriptions", "Subscriptions in this process.", "kind")
	publishedDesc     = describe("pubsub_published_total", "Messages that were published, whether or not there were subscribers.")
	deliveredDesc     = describe("pubsub_delivered_total", "Messages that subscriptions took; one message counts for each of them.")
	busSentDesc       = describe("bus_sent_total", "Messages sent to other processes.")
	busReceivedDesc   = describe("bus_received_total", "Messages received from other processes.")
	busStatementsDesc = describe("bus_statements_total", "Statements that sent messages, or found that no other process wants them.")
	busPollsDesc      = describe("bus_polls_total", "Statements that asked for messages of other processes.")
	busFailuresDesc   = describe("bus_failures_total", "Of these statements, and of those that go with them, the ones that failed.")
	busWaitingDesc    = describe("bus_waiting_bytes", "Messages that wait to be sent to other processes.")
	busNotifiedDesc   = describe("bus_notified", "Whether PostgreSQL notifies this process of messages; 0: it polls, or wants none.")
	subscribersDesc   = describe("redis_subscribers", "Redis connections that have subscriptions.")
	cutDesc           = describe("redis_subscribers_cut_total", "Redis connections closed because they did not read their messages.")
)

func collectMessages(out metricSink, stats pubsub.Stats) {
	for kind, name := range [pubsub.Kinds]string{"channel", "pattern", "shard"} {
		out.gauge(channelsDesc, float64(stats.Names[kind]), name)
		out.gauge(subscriptionsDesc, float64(stats.Subscriptions[kind]), name)
	}
	out.count(publishedDesc, float64(stats.Published))
	out.count(deliveredDesc, float64(stats.Delivered))
}

func collectBus(out metricSink, stats bus.Stats) {
	out.count(busSentDesc, float64(stats.Sent))
	out.count(busReceivedDesc, float64(stats.Received))
	out.count(busStatementsDesc, float64(stats.Flights))
	out.count(busPollsDesc, float64(stats.Polls))
	out.count(busFailuresDesc, float64(stats.Failures))
	out.gauge(busWaitingDesc, float64(stats.Waiting))
	notified := 0.0
	if stats.Listening {
		notified = 1
	}
	out.gauge(busNotifiedDesc, notified)
}
