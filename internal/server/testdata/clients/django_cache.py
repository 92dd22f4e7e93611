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
    assert cache.incr("n") == 2  # django-redis tries EVAL first, and does without it
    assert cache.touch("x", 100)
    assert cache.has_key("x")
    cache.delete_many(["x", "y"])
    assert cache.get("x") is None
    assert cache.get_or_set("made", lambda: 7, 60) == 7
assert caches["third"].ttl("made") > 0
caches["third"].set_many({f"p:{i}": i for i in range(50)})
assert caches["third"].delete_pattern("p:*") == 50
print("Django", django.__version__)
