"""redis-py subscribers: channels, patterns, shard channels, threads, reconnection, in RESP2 and RESP3, over two servers."""
import asyncio

import redis
import redis.asyncio
from waiting import address, connect, sql, until

DB = 1


def next_message(p, **options):
    """The next message; the confirmations of redis-py come as messages too."""
    return until(lambda: p.get_message(timeout=1, **options), "a message")


def channels_and_patterns(r, publisher):
    p = r.pubsub()
    assert p.get_message(timeout=0) is None
    p.subscribe("news", "sport")
    p.psubscribe("n*", "[st]port")
    confirmations = [next_message(p) for _ in range(4)]
    assert [(m["type"], m["channel"], m["data"]) for m in confirmations] == [
        ("subscribe", b"news", 1), ("subscribe", b"sport", 2), ("psubscribe", b"n*", 3), ("psubscribe", b"[st]port", 4)], confirmations

    assert r.publish("news", b"") == 2  # receivers on this server; those of others are not counted
    assert [next_message(p)["data"], next_message(p)["data"]] == [b"", b""]
    publisher.publish("news", b"\x00binary\r\n\xff")
    got = [next_message(p), next_message(p)]
    assert [(m["type"], m["pattern"], m["channel"], m["data"]) for m in got] == [
        ("message", None, b"news", b"\x00binary\r\n\xff"), ("pmessage", b"n*", b"news", b"\x00binary\r\n\xff")], got

    # Messages of one publisher arrive in order, and none is lost.
    for i in range(200):
        publisher.publish("sport", i)
    with publisher.pipeline(transaction=True) as pipe:
        for i in range(200, 400):
            pipe.publish("sport", i)
        pipe.execute()
    got = [next_message(p) for _ in range(800)]
    for kind in ("message", "pmessage"):
        numbers = [int(m["data"]) for m in got if m["type"] == kind]
        assert numbers == list(range(400)), (kind, numbers)
    publisher.publish("sport", b"x" * 1_000_000)
    assert [len(next_message(p)["data"]) for _ in range(2)] == [1_000_000] * 2

    assert set(r.pubsub_channels()) >= {b"news", b"sport"} and r.pubsub_channels("new?") == [b"news"]
    assert dict(r.pubsub_numsub("news", "none")) == {b"news": 1, b"none": 0} and r.pubsub_numpat() == 2
    p.ping()
    assert next_message(p)["type"] == "pong"

    p.unsubscribe("news")
    p.punsubscribe()
    gone = [next_message(p) for _ in range(3)]
    assert {m["type"] for m in gone} == {"unsubscribe", "punsubscribe"} and gone[-1]["data"] == 1, gone
    publisher.publish("news", "not for us")
    publisher.publish("sport", "last")
    assert next_message(p)["data"] == b"last"
    p.unsubscribe()
    assert next_message(p)["data"] == 0 and not p.subscribed
    p.close()


def shard_channels(r, publisher):
    p = r.pubsub(ignore_subscribe_messages=True)
    p.ssubscribe("shard")
    until(lambda: r.pubsub_shardchannels("sha*") == [b"shard"] or p.get_message(timeout=0.01), "the shard channel")
    assert dict(r.pubsub_shardnumsub("shard")) == {b"shard": 1} and b"shard" not in r.pubsub_channels()
    publisher.publish("shard", "not to shard channels")
    publisher.spublish("shard", "to the shard")
    message = next_message(p)
    assert (message["type"], message["channel"], message["data"]) == ("smessage", b"shard", b"to the shard"), message
    p.sunsubscribe()
    p.close()


def threads(r, publisher):
    got, failures = [], []
    p = r.pubsub(ignore_subscribe_messages=True)
    p.subscribe(**{"handled": lambda m: got.append(m["data"])})
    p.psubscribe(**{"all:*": lambda m: got.append(m["channel"])})
    thread = p.run_in_thread(sleep_time=0.1, daemon=True, exception_handler=lambda e, *_: failures.append(e))
    until(lambda: dict(r.pubsub_numsub("handled"))[b"handled"] == 1 and r.pubsub_numpat() == 1, "the thread's subscriptions")
    publisher.publish("handled", "one")
    publisher.publish("all:two", "")
    until(lambda: got == [b"one", b"all:two"], f"both handlers: {got}")
    thread.stop()
    thread.join(30)
    assert not thread.is_alive() and not failures, failures


def reconnects(r, publisher):
    """A subscriber whose connection was killed subscribes again by itself."""
    p = r.pubsub(ignore_subscribe_messages=True)
    p.subscribe("again")
    p.psubscribe("ag*")
    until(lambda: dict(r.pubsub_numsub("again"))[b"again"] == 1 or p.get_message(timeout=0.01), "the subscription")
    mine = lambda: [c["id"] for c in r.client_list(_type="pubsub") if c["sub"] == "1" and c["psub"] == "1"]
    killed = mine()
    assert len(killed) == 1 and r.client_kill_filter(_id=killed[0]) == 1, killed
    until(lambda: p.get_message(timeout=0.05) or mine() not in ([], killed), "the subscriptions after a reconnection")
    publisher.publish("again", "hello")
    assert {next_message(p)["type"], next_message(p)["type"]} == {"message", "pmessage"}
    p.close()


def subscriber_mode():
    """In RESP2 a subscriber may send few commands; in RESP3 any."""
    two = connect(DB, protocol=2).pubsub()
    two.subscribe("mode")
    two.parse_response()
    two.execute_command("GET", "a key that nothing sets")
    try:
        raise SystemExit(f"GET was answered: {two.parse_response()}")
    except redis.ResponseError as e:
        assert "Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context" in str(e), e
    two.execute_command("RESET")
    assert two.parse_response() == b"RESET"
    two.execute_command("GET", "a key that nothing sets")
    assert two.parse_response() is None
    two.close()
    three = connect(DB, protocol=3).pubsub()
    three.subscribe("mode")
    assert three.parse_response()[0] == b"subscribe"
    three.execute_command("GET", "a key that nothing sets")
    assert three.parse_response() is None
    three.close()


async def asynchronous():
    r = redis.asyncio.Redis(**address(), db=DB)
    publisher = redis.asyncio.Redis(**address("OTHER_ADDR"), db=DB)
    async with r.pubsub() as p:
        await p.psubscribe("async:*")
        assert (await p.get_message(timeout=30))["type"] == "psubscribe"
        waiting = asyncio.ensure_future(anext(m async for m in p.listen() if m["type"] == "pmessage"))
        await publisher.publish("async:1", "hello")
        assert (await asyncio.wait_for(waiting, 30))["data"] == b"hello"
    await r.aclose()
    await publisher.aclose()


def from_sql(r):
    p = r.pubsub(ignore_subscribe_messages=True)
    p.subscribe("sql")
    until(lambda: dict(r.pubsub_numsub("sql"))[b"sql"] == 1 or p.get_message(timeout=0.01), "the subscription")
    if sql("BEGIN; SELECT howdah.publish_text('sql', 'never'); ROLLBACK; SELECT howdah.publish_text('sql', 'at commit')") is not None:
        assert next_message(p)["data"] == b"at commit"
    p.close()


for protocol in (2, 3):
    for other in ("REDIS_ADDR", "OTHER_ADDR"):
        r, publisher = connect(DB, protocol=protocol), connect(DB, other)
        r.flushdb()
        channels_and_patterns(r, publisher)
        shard_channels(r, publisher)
        threads(r, publisher)
        reconnects(r, publisher)
subscriber_mode()
asyncio.run(asynchronous())
from_sql(connect(DB))
print("pub/sub of redis-py", redis.__version__)
