"""redis-py with default settings: RESP3, CLIENT SETINFO, pipelines as transactions."""
import os
import redis

host, port = os.environ["REDIS_ADDR"].rsplit(":", 1)
r = redis.Redis(host=host, port=int(port))
r.flushdb()

assert r.ping()
assert r.set("k", b"\x00binary\xff", ex=60) is True
assert r.get("k") == b"\x00binary\xff"
assert 0 < r.ttl("k") <= 60
assert r.get("absent") is None
assert r.set("k", "v2", nx=True) is None
assert r.set("k", "v2", xx=True, get=True) == b"\x00binary\xff"
assert r.incrby("n", 5) == 5 and r.decr("n") == 4
assert r.mset({"a": 1, "b": 2}) and r.mget("a", "b", "c") == [b"1", b"2", None]
assert r.delete("a", "b", "c") == 2
assert r.exists("k") == 1
assert r.append("k", "!") == 3 and r.getrange("k", 0, -2) == b"v2"
assert r.getdel("k") == b"v2!"

# The default pipeline() is MULTI/EXEC.
with r.pipeline() as pipe:
    pipe.set("p", 1).incr("p").expire("p", 100).get("p").ttl("p")
    ok, n, expired, value, ttl = pipe.execute()
assert (ok, n, expired, value) == (True, 2, True, b"2") and 0 < ttl <= 100
with r.pipeline(transaction=False) as pipe:
    for i in range(500):
        pipe.set(f"bulk:{i}", i, px=60_000)
    assert all(pipe.execute())
assert sorted(r.scan_iter(match="bulk:1?", count=50)) == sorted(f"bulk:1{i}".encode() for i in range(10))
assert len(r.keys("bulk:*")) == 500 and r.dbsize() >= 500

# A run-time error is that command's own.
with r.pipeline() as pipe:
    pipe.set("text", "abc").incr("text").set("after", 1)
    results = pipe.execute(raise_on_error=False)
assert results[0] is True and results[2] is True
assert isinstance(results[1], redis.ResponseError) and "not an integer" in str(results[1])

# Optimistic locking.
def transfer(pipe):
    n = int(pipe.get("n"))
    pipe.multi()
    pipe.set("n", n + 1)
assert r.transaction(transfer, "n") == [True] and r.get("n") == b"5"
with r.pipeline() as pipe:
    pipe.watch("n")
    r.set("n", 100)
    pipe.multi()
    pipe.set("n", 1)
    try:
        pipe.execute()
        raise AssertionError("WATCH did not notice")
    except redis.WatchError:
        pass

assert r.info()["redis_version"].startswith("7.")
assert r.config_get("maxmemory*")
assert redis.Redis(host=host, port=int(port), db=3).set("other", 1) and r.get("other") is None
assert redis.Redis(host=host, port=int(port), protocol=2, decode_responses=True).get("n") == "100"
try:
    r.execute_command("XADD", "stream", "*", "f", "v")
    raise AssertionError("XADD is not there")
except redis.ResponseError as e:
    assert "unknown command" in str(e)
r.set("seen-from-sql", "stored by redis-py")
print("redis-py", redis.__version__)
