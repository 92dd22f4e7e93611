"""redis-py's blocking commands: elements at once, timeouts, the order of waiters, moves, CLIENT UNBLOCK and PAUSE, over two servers."""
import threading
import time

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from waiting import connect, until

DB = 2


class Waiter(threading.Thread):
    """Runs one blocking command on a connection of its own, and keeps its answer or error."""

    def __init__(self, command, name="REDIS_ADDR"):
        super().__init__(daemon=True)
        client = connect(DB, name, socket_timeout=60, single_connection_client=True, retry=Retry(NoBackoff(), 0))
        self.id, self.command, self.client, self.answer = client.client_id(), command, client, None
        blocked = connect(DB, name)
        before = blocked.info("clients")["blocked_clients"]
        self.start()
        until(lambda: blocked.info("clients")["blocked_clients"] > before or not self.is_alive(), "a blocked client")

    def run(self):
        try:
            self.answer = self.command(self.client)
        except redis.RedisError as e:
            self.answer = e
        self.client.close()

    def result(self):
        self.join(30)
        assert not self.is_alive(), "a blocked client was not answered"
        return self.answer


def listed(answer):
    """The answer with tuples as lists: the two protocols differ in that."""
    return [listed(a) for a in answer] if isinstance(answer, (list, tuple)) else answer


def floats(answer):
    """The answer of BZMPOP with its scores as numbers: in RESP2 they are text."""
    return [answer[0], [[member, float(score)] for member, score in answer[1]]]


def equal(got, want):
    got = listed(got)
    assert got == want, f"got {got!r}, not {want!r}"


def elements_that_are_there(r):
    r.rpush("l", "a", "b", "c")
    equal(r.blpop("l", 1), [b"l", b"a"])
    equal(r.brpop(["none", "l"], 0.5), [b"l", b"c"])
    equal(r.blmove("l", "to", 1, "LEFT", "RIGHT"), b"b")
    equal(r.brpoplpush("to", "l", 1), b"b")
    equal(r.blmpop(1, 2, "none", "l", direction="LEFT", count=5), [b"l", [b"b"]])
    r.zadd("z", {"one": 1, "two": 2, "three": 3})
    equal(r.bzpopmin("z", 1), [b"z", b"one", 1.0])
    equal(r.bzpopmax(["none", "z"], 1), [b"z", b"three", 3.0])
    equal(floats(r.bzmpop(1, 1, ["z"], min=True)), [b"z", [[b"two", 2.0]]])
    equal(r.keys(), [])


def timeouts(r):
    for command in (lambda: r.blpop(["no", "none"], 0.05), lambda: r.brpop("no", 0.05), lambda: r.blmove("no", "to", 0.05),
                    lambda: r.brpoplpush("no", "to", 0.05), lambda: r.blmpop(0.05, 1, "no", direction="LEFT"),
                    lambda: r.bzpopmin("no", 0.05), lambda: r.bzpopmax("no", 0.05), lambda: r.bzmpop(0.05, 1, ["no"], min=True)):
        began = time.monotonic()
        equal(command(), None)
        assert time.monotonic() - began >= 0.049, "a blocking command did not wait for its timeout"
    # Within a transaction nothing waits.
    with r.pipeline() as pipe:
        pipe.blpop("no", 0).bzpopmin("no", 0).rpush("tx", "x").blpop("tx", 0)
        equal(pipe.execute(), [None, None, 1, [b"tx", b"x"]])
    r.set("text", "x")
    try:
        raise SystemExit(f"a string was popped: {r.blpop('text', 1)}")
    except redis.ResponseError as e:
        assert "WRONGTYPE" in str(e), e


def hand_over(r, pusher, name):
    """Each kind of waiter gets what another connection adds."""
    for command, push, want in (
            (lambda c: c.blpop(["q1", "q2"], 30), lambda: pusher.rpush("q2", "x"), [b"q2", b"x"]),
            (lambda c: c.brpop("q", 0), lambda: pusher.rpush("q", "x"), [b"q", b"x"]),
            (lambda c: c.blmove("src", "dst", 0, "RIGHT", "LEFT"), lambda: pusher.rpush("src", "x"), b"x"),
            (lambda c: c.brpoplpush("src", "dst", 30), lambda: pusher.lpush("src", "y"), b"y"),
            (lambda c: c.blmpop(30, 1, "q", direction="RIGHT", count=2), lambda: pusher.rpush("q", "a", "b", "c"), [b"q", [b"c", b"b"]]),
            (lambda c: c.bzpopmin("z", 30), lambda: pusher.zadd("z", {"b": 2, "a": 1}), [b"z", b"a", 1.0]),
            (lambda c: c.bzpopmax("z2", 30), lambda: pusher.zincrby("z2", 1.5, "m"), [b"z2", b"m", 1.5]),
            (lambda c: floats(c.bzmpop(0, 2, ["z3", "z4"], max=True, count=9)), lambda: pusher.zadd("z4", {"a": 1}), [b"z4", [[b"a", 1.0]]]),
            (lambda c: c.blpop("made", 30), lambda: pusher.transaction(lambda p: p.multi() or p.rpush("made", "1").rpush("made", "2")), [b"made", b"1"]),
            (lambda c: c.blpop("scripted", 30), lambda: pusher.eval("return redis.call('RPUSH', KEYS[1], 'x', 'y')", 1, "scripted"), [b"scripted", b"x"]),
            (lambda c: c.blpop("renamed", 30), lambda: (pusher.rpush("other", "x"), pusher.rename("other", "renamed")), [b"renamed", b"x"]),
            (lambda c: c.blpop("sorted", 30), lambda: (pusher.rpush("unsorted", "2", "1"), pusher.sort("unsorted", store="sorted")), [b"sorted", b"1"])):
        waiter = Waiter(command, name)
        push()
        equal(waiter.result(), want)
    equal(r.lrange("dst", 0, -1), [b"y", b"x"])
    equal(r.lrange("made", 0, -1), [b"2"])


def order(r, pusher):
    """The longest waiter is served first; a move feeds the waiters of its destination."""
    waiters = [Waiter(lambda c: c.blpop("fifo", 60)) for _ in range(5)]
    pusher.rpush("fifo", *range(5))
    equal([w.result()[1] for w in waiters], [b"%d" % i for i in range(5)])
    last = Waiter(lambda c: c.blpop("chain2", 60))
    first = Waiter(lambda c: c.blmove("chain1", "chain2", 60))
    pusher.rpush("chain1", "x")
    equal((first.result(), last.result()), [b"x", [b"chain2", b"x"]])


def unblock(r):
    timed_out = Waiter(lambda c: c.blpop("never", 0))
    equal(r.client_unblock(timed_out.id), 1)
    equal(timed_out.result(), None)
    failed = Waiter(lambda c: c.bzpopmin("never", 0))
    equal(r.client_unblock(failed.id, error=True), 1)
    assert "UNBLOCKED client unblocked via CLIENT UNBLOCK" in str(failed.result()), failed.answer
    equal(r.client_unblock(r.client_id()), 0)
    killed = Waiter(lambda c: c.blpop("never", 0))
    equal(r.client_kill_filter(_id=killed.id), 1)
    assert isinstance(killed.result(), redis.ConnectionError), killed.answer
    r.rpush("never", "kept")  # a client that has gone takes nothing
    equal(r.lpop("never"), b"kept")


def pause(r):
    r.client_pause(60_000, all=False)
    writer = threading.Thread(target=lambda: connect(DB).set("paused", "written"))
    writer.start()
    equal(r.get("paused"), None)  # reads go on
    r.client_unpause()
    writer.join(30)
    equal(r.get("paused"), b"written")
    equal(r.wait(0, 10), 0)


def queue(r, name):
    """Sidekiq's way: BRPOP over many lists by several workers; each job is done once."""
    queues, done, lock = [f"queue:{i}" for i in range(20)], [], threading.Lock()

    def work(c):
        while (job := c.brpop(queues + ["queue:end"], 60))[0] != b"queue:end":
            with lock:
                done.append(job[1])

    workers = [Waiter(work, ("REDIS_ADDR", name)[i % 2]) for i in range(4)]
    pushers = [threading.Thread(target=lambda n=n: [connect(DB, name).lpush(queues[(n + i) % 20], f"{n}:{i}") for i in range(25)]) for n in range(4)]
    for p in pushers:
        p.start()
    for p in pushers:
        p.join()
    until(lambda: len(done) == 100, "all jobs")
    r.lpush("queue:end", *range(4))
    equal([w.result() for w in workers], [None] * 4)
    equal(sorted(done), sorted(b"%d:%d" % (n, i) for n in range(4) for i in range(25)))


for protocol in (2, 3):
    for other in ("REDIS_ADDR", "OTHER_ADDR"):
        r, pusher = connect(DB, protocol=protocol), connect(DB, other)
        r.flushdb()
        elements_that_are_there(r)
        timeouts(r)
        for name in ("REDIS_ADDR", other):
            r.flushdb()
            hand_over(r, pusher, name)
        order(r, pusher)
        unblock(r)
        pause(r)
        queue(r, other)
print("blocking commands of redis-py", redis.__version__)
