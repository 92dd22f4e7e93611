# Action Cable's own adapter for Redis, without the rest of Rails: streams are subscribed and unsubscribed while its
# connection listens, and broadcasts of other servers arrive.
require "action_cable"
require "action_cable/subscription_adapter/redis"
require "active_support/all"
require "redis"

def check(right, what)
  right or abort(what)
end

def wait_until(what, seconds = 30)
  stop = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  until (value = yield)
    check(Process.clock_gettime(Process::CLOCK_MONOTONIC) < stop, "waited #{seconds} s for: #{what}")
    sleep 0.005
  end
  value
end

def adapter(address)
  config = ActionCable::Server::Configuration.new
  config.cable = { adapter: "redis", url: "redis://#{address}/1", channel_prefix: "app" }.with_indifferent_access
  config.logger = ActiveSupport::Logger.new(IO::NULL)
  ActionCable::SubscriptionAdapter::Redis.new(ActionCable::Server::Base.new(config: config))
end

one = ENV.fetch("REDIS_ADDR")
other = ENV.fetch("OTHER_ADDR", one)
redis = Redis.new(url: "redis://#{one}/1")
cable, peer = adapter(one), adapter(other)

received = Queue.new
callbacks = %w[room:1 room:2].to_h { |room| [room, ->(message) { received << [room, message] }] }
subscribed = Queue.new
callbacks.each { |room, callback| cable.subscribe(room, callback, -> { subscribed << room }) }
check([subscribed.pop, subscribed.pop].sort == %w[room:1 room:2], "the subscriptions were not confirmed")
check(redis.pubsub("channels", "*").sort == %w[_action_cable_internal app:room:1 app:room:2], "channels: #{redis.pubsub("channels", "*")}")

cable.broadcast("room:1", "{\"own\":true}")
check(received.pop == ["room:1", "{\"own\":true}"], "a broadcast of its own")
peer.broadcast("room:2", "é \u{1F40E}")
room, message = received.pop
check(room == "room:2" && message.dup.force_encoding("UTF-8") == "é \u{1F40E}", "a broadcast of the other server: #{message}")
200.times { |i| peer.broadcast("room:1", i.to_s) }
got = Array.new(200) { received.pop }
check(got.map { |_, m| m }.sort_by(&:to_i) == Array.new(200, &:to_s), "a broadcast was lost: #{got}")

# The last one who leaves a stream unsubscribes; the connection goes on for the others.
cable.unsubscribe("room:1", callbacks["room:1"])
wait_until("the end of a stream") { !redis.pubsub("channels", "*").include?("app:room:1") }
peer.broadcast("room:1", "nobody")
peer.broadcast("room:2", "still here")
check(received.pop == ["room:2", "still here"], "the other stream")
late = Queue.new
cable.subscribe("room:3", ->(m) { received << ["room:3", m] }, -> { late << true })
check(late.pop, "a stream that came later")
peer.broadcast("room:3", "late")
check(received.pop == ["room:3", "late"], "a broadcast to a stream that came later")

cable.shutdown
wait_until("the end of the connection") { redis.pubsub("channels", "*").empty? }
puts "Action Cable #{ActionCable.version}, redis-rb #{Redis::VERSION}"
