"""redis-py's client-side cache: what it keeps is dropped when another client, another server or SQL writes it."""
import os
import threading

import redis
from redis.cache import CacheConfig
from redis.connection import CacheProxyConnection
from waiting import connect, sql, until

DB = 3


def invalidated(r, read, write, want, what):
    """A value that is kept in the cache is replaced soon after a write elsewhere."""
    read()
    write()
    until(lambda: read() == want, f"{what}: {read()!r}, not {want!r}")


def kept(r, name="REDIS_ADDR"):
    """The cache really answers: repeated reads send no command to the server."""
    watcher = connect(DB, name)
    r.set("kept", "v")
    calls = lambda: int(watcher.info("commandstats").get("cmdstat_get", {"calls": 0})["calls"])
    until(lambda: r.get("kept") == b"v" and r.get_cache().size >= 1, "an entry in the cache")
    # An invalidation of the write above may come late, once; so a round without any GET is awaited.
    def round_without_get():
        before = calls()
        assert all(r.get("kept") == b"v" for _ in range(20))
        return calls() == before
    until(round_without_get, "reads from the client's memory")


def never_backwards(r, writer):
    """While another client counts up, the reader sees the count grow, never fall, and ends at its last value."""
    writer.set("count", 0)
    until(lambda: r.get("count") == b"0", "the first count")
    counting = threading.Thread(target=lambda: [writer.incr("count") for _ in range(300)])
    counting.start()
    last = 0
    while counting.is_alive() or last < 300:
        now = int(until(lambda: r.get("count"), "a count"))
        assert now >= last, f"the count fell from {last} to {now}"
        last = now
        if not counting.is_alive():
            until(lambda: r.get("count") == b"300", "the last count")
            last = 300
    counting.join()


def as_it_is():
    """redis-py asks for version 7.4 in the answer to HELLO, which the server at NEWER_ADDR gives."""
    try:
        raise SystemExit(f"redis-py takes an older server: {connect(DB, protocol=3, cache_config=CacheConfig()).get('k')}")
    except redis.ConnectionError as e:
        assert "Redis 7.4 or later" in str(e), e
    r, writer = connect(DB, "NEWER_ADDR", protocol=3, cache_config=CacheConfig()), connect(DB)
    kept(r, "NEWER_ADDR")
    invalidated(r, lambda: r.get("kept"), lambda: writer.set("kept", "2"), b"2", "SET")
    invalidated(r, lambda: r.get("kept"), lambda: writer.delete("kept"), None, "DEL")
    assert r.info("server")["redis_version"] == "7.4.0"
    r.close()


if "NEWER_ADDR" in os.environ:
    as_it_is()
CacheProxyConnection.MIN_ALLOWED_VERSION = "7.0.0"
for name in ("REDIS_ADDR", "OTHER_ADDR"):
    r, writer = connect(DB, protocol=3, cache_config=CacheConfig()), connect(DB, name)
    r.flushdb()
    kept(r)
    writer.set("k", "1")
    until(lambda: r.get("k") == b"1", "the first value")
    invalidated(r, lambda: r.get("k"), lambda: writer.set("k", "2"), b"2", "SET")
    invalidated(r, lambda: r.get("k"), lambda: writer.incr("k"), b"3", "INCR")
    invalidated(r, lambda: r.get("k"), lambda: writer.eval("redis.call('SET', KEYS[1], 'script')", 1, "k"), b"script", "EVAL")
    invalidated(r, lambda: r.get("k"), lambda: writer.pipeline().set("k", "tx").execute(), b"tx", "EXEC")
    invalidated(r, lambda: r.get("k"), lambda: writer.delete("k"), None, "DEL")
    writer.mset({"a": 1, "b": 2})
    invalidated(r, lambda: r.mget("a", "b"), lambda: writer.set("b", 3), [b"1", b"3"], "MGET")
    writer.hset("h", "f", "1")
    invalidated(r, lambda: r.hget("h", "f"), lambda: writer.hset("h", "f", "2"), b"2", "HSET")
    invalidated(r, lambda: r.lrange("l", 0, -1), lambda: writer.rpush("l", "x"), [b"x"], "RPUSH")
    invalidated(r, lambda: r.zscore("z", "m"), lambda: writer.zadd("z", {"m": 1}), 1.0, "ZADD")
    writer.set("short", "lived")
    invalidated(r, lambda: r.get("short"), lambda: writer.pexpire("short", 30), None, "an entry that expires")
    writer.set("k", "again")
    invalidated(r, lambda: r.get("k"), lambda: writer.flushdb(), None, "FLUSHDB")
    if sql("SELECT howdah.set_text('db3', 'k', 'from psql')") is not None:
        invalidated(r, lambda: r.get("k"), lambda: None, b"from psql", "howdah.set_text")
        invalidated(r, lambda: r.get("k"), lambda: sql("SELECT howdah.set_text('db3', 'k', 'twice')"), b"twice", "howdah.set_text")
        invalidated(r, lambda: r.get("k"), lambda: sql("SELECT howdah.delete_text('db3', 'k')"), None, "howdah.delete_text")
    never_backwards(r, writer)
    r.close()
print("client-side cache of redis-py", redis.__version__)
