"""Collections and scripts by redis-py: its own forms of replies, register_script, scripts in pipelines."""
import os
import redis

host, port = os.environ["REDIS_ADDR"].rsplit(":", 1)
for protocol in (2, 3):
    r = redis.Redis(host=host, port=int(port), db=10, protocol=protocol)
    r.flushdb()
    r.script_flush()

    assert r.hset("h", mapping={"a": 1, "b": 2}) == 2 and r.hgetall("h") == {b"a": b"1", b"b": b"2"}
    assert r.hmget("h", "a", "z") == [b"1", None] and r.hincrby("h", "a", 4) == 5
    assert r.hincrbyfloat("h", "f", 0.5) == 0.5 and r.hdel("h", "f") == 1
    assert dict(r.hscan_iter("h")) == {b"a": b"5", b"b": b"2"}
    assert r.sadd("s", "x", "y", "z") == 3 and r.smembers("s") == {b"x", b"y", b"z"}
    assert r.sadd("s2", "y", "q") == 2 and r.sinter("s", "s2") == {b"y"} and r.sunionstore("s3", "s", "s2") == 4
    assert r.smismember("s", ["x", "q"]) == [1, 0]
    assert r.zadd("z", {"one": 1, "two": 2.5}) == 2 and r.zincrby("z", 2, "one") == 3.0
    assert [tuple(pair) for pair in r.zrange("z", 0, -1, withscores=True)] == [(b"two", 2.5), (b"one", 3.0)]
    assert r.zrank("z", "one") == 1 and r.zscore("z", "two") == 2.5 and r.zrangebyscore("z", "(2.5", "+inf") == [b"one"]
    assert r.rpush("l", 1, 2, 3) == 3 and r.lrange("l", 0, -1) == [b"1", b"2", b"3"]
    assert r.lmove("l", "l2", "LEFT", "RIGHT") == b"1" and r.lpos("l", "3") == 1 and r.lpop("l", 2) == [b"2", b"3"]
    assert r.exists("l") == 0 and r.type("z") == b"zset"
    assert r.setbit("bits", 7, 1) == 0 and r.bitcount("bits") == 1 and r.bitfield("bits").get("u8", 0).execute() == [1]
    assert r.pfadd("p", "a", "b", "c") == 1 and r.pfcount("p") == 3
    try:
        r.get("h")
        raise SystemExit("GET of a hash was answered")
    except redis.ResponseError as e:
        assert "WRONGTYPE" in str(e)
    with r.pipeline() as pipe:
        pipe.hset("h", "c", 3).sadd("s", "w").zadd("z", {"three": 3}).rpush("l", "x").hlen("h")
        assert pipe.execute() == [1, 1, 1, 1, 3]

    # register_script sends EVALSHA, and SCRIPT LOAD after NOSCRIPT.
    add = r.register_script("""
        local sum = tonumber(redis.call('GET', KEYS[1]) or '0') + tonumber(ARGV[1])
        redis.call('SET', KEYS[1], sum)
        redis.call('HSET', KEYS[2], 'last', ARGV[1])
        return {sum, redis.call('HGETALL', KEYS[2])}""")
    assert add(keys=["sum", "log"], args=[5]) == [5, [b"last", b"5"]]
    assert add(keys=["sum", "log"], args=[2]) == [7, [b"last", b"2"]]
    assert r.script_exists(add.sha, "0" * 40) == [True, False]
    r.script_flush()
    with r.pipeline() as pipe:  # EXEC after SCRIPT EXISTS and SCRIPT LOAD
        add(keys=["sum", "log"], args=[1], client=pipe)
        pipe.get("sum")
        assert pipe.execute() == [[8, [b"last", b"1"]], b"8"]
    assert r.eval("return cjson.encode({KEYS[1], ARGV[1]})", 1, "k", "v") == b'["k","v"]'
    try:
        r.eval("redis.call('SET', KEYS[1], 'kept') return redis.call('INCR', KEYS[1])", 1, "text")
        raise SystemExit("INCR of a text was done")
    except redis.ResponseError as e:
        assert "not an integer" in str(e)
    assert r.get("text") == b"kept"
print("scripts", redis.__version__)
