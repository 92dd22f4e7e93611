"""Django's own Redis cache and django-redis: what a stock project sends."""
import os
import django
from django.conf import settings

url = "redis://" + os.environ["REDIS_ADDR"]
settings.configure(CACHES={
    "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": url + "/1"},
    "third": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": url + "/2"},
})
django.setup()
from django.core.cache import caches

for name in ("default", "third"):
    cache = caches[name]
    cache.clear()
    cache.set("k", {"a": [1, 2]}, 60)
    assert cache.get("k") == {"a": [1, 2]}
    assert cache.add("k", 1) is False and cache.add("new", 1, 60) is True
    cache.set_many({"x": 1, "y": 2}, 60)
    assert cache.get_many(["x", "y", "z"]) == {"x": 1, "y": 2}
    cache.set("n", 1)
    assert cache.incr("n") == 2
    assert cache.touch("x", 100)
    assert cache.has_key("x")
    cache.delete_many(["x", "y"])
    assert cache.get("x") is None
    assert cache.get_or_set("made", lambda: 7, 60) == 7
assert caches["third"].ttl("made") > 0
caches["third"].set_many({f"p:{i}": i for i in range(50)})
assert caches["third"].delete_pattern("p:*") == 50

# What django-redis adds: locks, sets and hashes.
cache = caches["third"]
with cache.lock("report", timeout=60) as lock:
    assert lock.owned() and not cache.lock("report", timeout=60).acquire(blocking=False)
assert cache.lock("report", timeout=60).acquire(blocking=False)
assert cache.sadd("s", "a", ("b", 1)) == 2 and cache.smembers("s") == {"a", ("b", 1)}
assert cache.sismember("s", "a") and cache.scard("s") == 2 and cache.srem("s", "a") == 1
assert cache.sadd("t", "c") == 1 and cache.sunion("s", "t") == {("b", 1), "c"} and cache.sinter("s", "t") == set()
assert set(cache.sscan_iter("t")) == {"c"} and cache.spop("t") == "c"
assert cache.hset("h", "f", 1) == 1 and cache.hexists("h", "f")
assert cache.hlen("h") == 1 and list(cache.hkeys("h")) == ["f"] and cache.hdel("h", "f") == 1
assert cache.incr("n", 5) == 7 and cache.incr("absent", ignore_key_check=True) == 1  # by a script
print("Django", django.__version__)
