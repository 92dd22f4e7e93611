# The jobs of sidekiq_queue.rb.
require "sidekiq"

Redis.sadd_returns_boolean = false # Sidekiq uses neither; redis-rb would warn at each job

url = "redis://#{ENV.fetch("REDIS_ADDR")}/5"
Sidekiq.configure_server { |config| config.redis = { url: url } }
Sidekiq.configure_client { |config| config.redis = { url: url } }

class Add
  include Sidekiq::Worker
  sidekiq_options queue: "critical"

  def perform(x, y)
    Sidekiq.redis { |r| r.rpush("sums", x + y) }
  end
end
