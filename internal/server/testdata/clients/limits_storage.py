"""limits, which is beneath Flask-Limiter and slowapi: every strategy, by many threads too."""
import os
import threading
import limits
import redis
from limits import parse, storage, strategies

uri = "redis://" + os.environ["REDIS_ADDR"] + "/11"
store = storage.storage_from_string(uri)
assert store.check()
redis.Redis.from_url(uri).flushdb()
for strategy in (strategies.FixedWindowRateLimiter, strategies.MovingWindowRateLimiter, strategies.SlidingWindowCounterRateLimiter):
    limiter, item, name = strategy(store), parse("10/day"), strategy.__name__
    assert limiter.test(item, name) and limiter.get_window_stats(item, name).remaining == 10
    hits = []
    threads = [threading.Thread(target=lambda: hits.extend(limiter.hit(item, name) for _ in range(5))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(hits) == [False] * 10 + [True] * 10, (name, hits)
    assert not limiter.test(item, name) and limiter.get_window_stats(item, name).remaining == 0, name
    assert limiter.hit(item, name, "weighty", cost=10) and not limiter.hit(item, name, "weighty", cost=1)
    limiter.clear(item, name)
    assert limiter.hit(item, name) and limiter.get_window_stats(item, name).remaining == 9, name
    short = parse("1/second")
    assert limiter.hit(short, name)
    while not limiter.hit(short, name):  # until the window is over
        pass
print("limits", limits.__version__)
