"""redis-py's RedisCluster with default settings, also with asyncio, against a server with --redis-cluster."""
import asyncio
import os
import redis
import redis.asyncio

address = os.environ["CLUSTER_ADDR"]
host, port = address.rsplit(":", 1)
r = redis.RedisCluster(host=host, port=int(port))
r.flushdb()

assert r.ping()
assert [(n.host, n.port, n.server_type) for n in r.get_nodes()] == [(host, int(port), "primary")], r.get_nodes()
assert r.cluster_info()["cluster_state"] == "ok"
assert r.keyslot("{user1000}.following") == r.cluster_keyslot("{user1000}.following") == 3443
assert list(r.cluster_nodes().values())[0]["slots"] == [["0", "16383"]]
assert r.cluster_shards()[0]["slots"] == [0, 16383]
assert r.cluster_links(r.get_primaries()[0]) == []
assert r.readonly(target_nodes="primaries") and r.readwrite(target_nodes="primaries")

for i in range(200):
    assert r.set(f"key:{i}", i, ex=60)
assert [r.get(f"key:{i}") for i in range(200)] == [str(i).encode() for i in range(200)]
with r.pipeline() as pipe:  # over many slots
    for i in range(200):
        pipe.incr(f"key:{i}")
    assert pipe.execute() == list(range(1, 201))
assert len(list(r.scan_iter(match="key:*"))) == 200 and r.dbsize() == 200
assert r.mset_nonatomic({"a": 1, "b": 2}) and r.mget_nonatomic("a", "b", "c") == [b"1", b"2", None]
assert r.delete("a", "b") == 2

# Several slots in one command: the client refuses some, and the server answers those that it sends.
try:
    r.mget("a", "b")
    raise AssertionError("redis-py sends keys of several slots now")
except redis.RedisClusterException as e:
    assert "same key slot" in str(e), e
assert r.mset({"{x}a": 1, "{x}b": 2}) and r.mget("{x}a", "{x}b") == [b"1", b"2"]

# Commands whose keys redis-py asks for with COMMAND GETKEYS, and those on collections.
assert r.eval("return redis.call('INCRBY', KEYS[1], ARGV[1])", 1, "n", 5) == 5
assert r.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")(keys=["n"], args=[1]) == 6
assert r.hset("h", mapping={"f": 1}) == 1 and r.zadd("{x}z", {"one": 1}) == 1 and r.rpush("l", "v") == 1
assert r.zunionstore("{x}u", ["{x}z", "{x}z"]) == 1 and r.sort("l", alpha=True) == [b"v"]
assert list(r.blpop("l", 5)) == [b"l", b"v"]
assert r.memory_usage("h") > 0 and r.object("encoding", "h") is not None

# Transactions over one slot, with WATCH.
with r.pipeline(transaction=True) as pipe:
    pipe.watch("{x}a")
    value = int(pipe.get("{x}a"))
    pipe.multi()
    pipe.set("{x}a", value + 1)
    pipe.incr("{x}b")
    assert pipe.execute() in ([True, 3], [b"OK", 3])

# Messages, also of shard channels, which are channels of their own.
p = r.pubsub()
p.subscribe("news")
p.ssubscribe("news")
kinds = {p.get_message(timeout=10)["type"], p.get_sharded_message(timeout=10)["type"]}
assert kinds == {"subscribe", "ssubscribe"}, kinds
assert r.publish("news", "hello") == 1
assert r.spublish("news", "shard") == 1
message, sharded = p.get_message(timeout=10), p.get_sharded_message(timeout=10)
assert (message["type"], message["data"]) == ("message", b"hello"), message
assert (sharded["type"], sharded["data"]) == ("smessage", b"shard"), sharded
p.close()


async def concurrently():
    async with redis.asyncio.RedisCluster.from_url(f"redis://{address}") as a:
        await asyncio.gather(*(a.set(f"async:{i}", i) for i in range(100)))
        assert await asyncio.gather(*(a.get(f"async:{i}") for i in range(100))) == [str(i).encode() for i in range(100)]

asyncio.run(concurrently())

# A connection without the cluster client has no rules of slots.
plain = redis.Redis(host=host, port=int(port))
assert plain.mget("{x}a", "n") == [b"2", b"6"]
print("redis-py, RedisCluster", redis.__version__)
