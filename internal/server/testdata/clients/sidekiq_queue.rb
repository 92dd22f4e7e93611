# Sidekiq: a worker process on another server fetches jobs by BRPOP over its queues, each once; statistics; the end of the worker.
require_relative "sidekiq_jobs"
require "sidekiq/api"
require "tempfile"

def check(right, what)
  right or raise(what)
end

def wait_until(what, seconds = 60)
  stop = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
  until (value = yield)
    check(Process.clock_gettime(Process::CLOCK_MONOTONIC) < stop, "waited #{seconds} s for: #{what}")
    sleep 0.01
  end
  value
end

redis = Redis.new(url: "redis://#{ENV.fetch("REDIS_ADDR")}/5")
redis.flushdb
20.times { |i| Add.perform_async(i, i) }
check(Sidekiq::Queue.new("critical").size == 20, "the queue")

log = Tempfile.new("sidekiq")
there = { "REDIS_ADDR" => ENV["OTHER_ADDR"] || ENV.fetch("REDIS_ADDR") } # the worker's server
worker = spawn(there, "sidekiq", "-r", File.join(__dir__, "sidekiq_jobs.rb"), "-q", "critical", "-q", "default", "-c", "3", out: log, err: log)
begin
  wait_until("the first jobs") { redis.llen("sums") == 20 }
  80.times { |i| Add.perform_async(20 + i, 20 + i) }
  wait_until("all jobs") { redis.llen("sums") == 100 }
  check(redis.lrange("sums", 0, -1).map(&:to_i).sort == Array.new(100) { |i| 2 * i }, "a job ran twice or not at all")
  wait_until("the statistics") { Sidekiq::Stats.new.processed == 100 }
  check(Sidekiq::ProcessSet.new.size == 1, "the worker is not listed")
  Process.kill(:TERM, worker)
  wait_until("the end of the worker") { Process.wait(worker, Process::WNOHANG) }
  worker = nil
rescue StandardError => e
  log.rewind
  abort("#{e.message}\n#{log.read}")
ensure
  Process.kill(:KILL, worker) if worker
end
puts "Sidekiq #{Sidekiq::VERSION}"
