"""cachelib, which is beneath Flask-Caching and Flask-Session."""
import os
from cachelib import RedisCache

host, port = os.environ["REDIS_ADDR"].rsplit(":", 1)
cache = RedisCache(host=host, port=int(port), db=4, key_prefix="app:")
cache.clear()
assert cache.set("k", {"a": 1}, timeout=60) and cache.get("k") == {"a": 1}
assert cache.add("k", 2) is False and cache.add("k2", 2) is True
assert cache.set_many({"x": 1, "y": 2}) and cache.get_many("x", "y", "z") == [1, 2, None]
assert cache.inc("count") == 1 and cache.dec("count") == 0
assert cache.has("x") and cache.delete("x") and not cache.has("x")
assert cache.clear() and cache.get("y") is None
print("cachelib")
