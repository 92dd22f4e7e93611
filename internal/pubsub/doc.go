// Package pubsub hands messages to their receivers in this process, which have subscribed to a
// channel, to the channels that match a pattern, or to a shard channel.
//
// A [Hub] knows the subscriptions. [Hub.Publish] calls each [Receiver] of a message in the
// goroutine of the publisher, without a lock: publishers of different channels do not
// wait for each other, and a receiver may subscribe, end subscriptions and publish while it
// takes a message.
//
// The messages of one publisher reach a receiver in their order. Messages that are published
// at the same time may reach two receivers in different orders.
//
// The package knows no protocol and no SQL.
package pubsub
