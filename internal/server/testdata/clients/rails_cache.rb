# ActiveSupport::Cache::RedisCacheStore, which Rails has as config.cache_store = :redis_cache_store.
require "logger"
require "active_support"
require "active_support/core_ext/numeric/time"
require "active_support/cache"
require "active_support/cache/redis_cache_store"
require "active_support/notifications"

def check(what, got, want)
  raise "#{what}: #{got.inspect}, not #{want.inspect}" unless got == want
end

failures = []
address = ENV.fetch("REDIS_ADDR")
cache = ActiveSupport::Cache::RedisCacheStore.new(
  url: "redis://#{address}/0", namespace: "shop", expires_in: 3600,
  error_handler: ->(method:, returning:, exception:) { failures << [method, exception] })

check "write", !!cache.write("greeting", { "text" => "hello" }), true
check "read", cache.read("greeting"), { "text" => "hello" }
check "exist?", [cache.exist?("greeting"), cache.exist?("none")], [true, false]
check "fetch of what is there", cache.fetch("greeting") { raise "was loaded" }, { "text" => "hello" }
check "fetch of what is not", cache.fetch("loaded", expires_in: 60) { 7 }, 7
check "fetch of nil", [cache.fetch("nil") { nil }, cache.fetch("nil") { raise "was loaded" }], [nil, nil]
check "fetch, skip_nil", [cache.fetch("skipped", skip_nil: true) { nil }, cache.exist?("skipped")], [nil, false]
check "unless_exist", [!!cache.write("greeting", "other", unless_exist: true), !!cache.write("fresh", 1, unless_exist: true)], [false, true]
check "raw", [!!cache.write("raw", "text", raw: true), cache.read("raw", raw: true)], [true, "text"]
check "write_multi", cache.write_multi({ "m:1" => 1, "m:2" => "two", "m:3" => nil }, expires_in: 60).size, 3
check "read_multi", cache.read_multi("m:1", "m:2", "none"), { "m:1" => 1, "m:2" => "two" }
check "fetch_multi", cache.fetch_multi("m:1", "m:4") { |key| key.upcase }, { "m:1" => 1, "m:4" => "M:4" }
check "increment", [cache.increment("n"), cache.increment("n", 5), cache.decrement("n", 2)], [1, 6, 4]
check "expiry of a counter", [cache.increment("limit", 1, expires_in: 60), cache.redis.ttl("shop:limit").between?(1, 60)], [1, true]
check "large values are compressed", [!!cache.write("large", "x" * 100_000), cache.read("large").size], [true, 100_000]
check "compressed", cache.redis.strlen("shop:large") < 10_000, true
check "version", [!!cache.write("versioned", 1, version: 1), cache.read("versioned", version: 1), cache.read("versioned", version: 2)], [true, 1, nil]
check "race_condition_ttl", cache.fetch("race", expires_in: 60, race_condition_ttl: 5) { 1 }, 1
check "delete", [cache.delete("greeting"), cache.read("greeting")], [1, nil]
check "delete_multi", cache.delete_multi(["m:1", "m:2", "none"]), 2
cache.delete_matched("m:*")
check "delete_matched", [cache.exist?("m:4"), cache.exist?("fresh")], [false, true]
check "expired", [!!cache.write("brief", 1, expires_in: 0.02), (sleep 0.01 while cache.exist?("brief")), cache.read("brief")], [true, nil, nil]

# clear removes its own namespace, and what other programs keep stays.
cache.redis.set("other", "stays")
cache.clear
check "clear", [cache.exist?("fresh"), cache.redis.get("other")], [false, "stays"]
whole = ActiveSupport::Cache::RedisCacheStore.new(url: "redis://#{address}/5")
whole.write("a", 1)
whole.clear
check "clear without a namespace", [whole.exist?("a"), cache.redis.get("other")], [false, "stays"]

# Many at once load a key; with a pool of connections.
pooled = ActiveSupport::Cache::RedisCacheStore.new(url: "redis://#{address}/0", namespace: "pool", pool_size: 4, pool_timeout: 30)
check "pool", 8.times.map { |i| Thread.new { pooled.fetch("k:#{i}") { i } } }.map(&:value), (0..7).to_a
check "failures", failures, []
puts "ok, Rails #{ActiveSupport::VERSION::STRING}, redis-rb #{Redis::VERSION}"
