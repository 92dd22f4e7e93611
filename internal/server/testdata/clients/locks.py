"""Locks of Python: redis-py, redlock-py, pottery and dogpile.cache take them with SET and release them with scripts."""
import os
import threading
import redis
from redis.exceptions import LockError, LockNotOwnedError

host, port = os.environ["REDIS_ADDR"].rsplit(":", 1)
r = redis.Redis(host=host, port=int(port), db=9)
r.flushdb()

# redis-py: acquire, extend, reacquire, release.
lock = r.lock("lock", timeout=60)
assert lock.acquire() and lock.locked() and lock.owned()
assert lock.extend(60) and 60_000 < r.pttl("lock") <= 120_000
assert lock.extend(30, replace_ttl=True) and 0 < r.pttl("lock") <= 30_000
assert lock.reacquire() and 30_000 < r.pttl("lock") <= 60_000
other = r.lock("lock", timeout=60)
assert not other.acquire(blocking=False)
try:
    other.release()
    raise SystemExit("a lock was released that was not taken")
except LockError:
    pass
lock.release()
assert not lock.locked() and r.exists("lock") == 0

# A lock that another holder has taken over is neither extended nor released.
assert lock.acquire()
r.set("lock", "of another")
for act in (lock.release, lambda: lock.extend(1), lock.reacquire):
    lock.local.token = lock.local.token or b"mine"
    try:
        act()
        raise SystemExit("the lock of another was touched")
    except LockNotOwnedError:
        pass
assert r.get("lock") == b"of another"
r.delete("lock")

# Contention: the lock makes an increment of two steps exact.
r.set("sum", 0)
errors = []
def work():
    try:
        for _ in range(5):
            with r.lock("guard", timeout=60, sleep=0.005):
                r.set("sum", int(r.get("sum")) + 1)
    except Exception as e:
        errors.append(e)
threads = [threading.Thread(target=work) for _ in range(6)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert not errors and r.get("sum") == b"30" and r.exists("guard") == 0, (errors, r.get("sum"))

# redlock-py, over one server.
from redlock import Redlock
manager = Redlock([{"host": host, "port": int(port), "db": 9}], retry_count=1)
held = manager.lock("redlock", 60_000)
assert held and held.resource == "redlock" and not manager.lock("redlock", 60_000)
manager.unlock(held)
assert r.exists("redlock") == 0
assert manager.lock("redlock", 60_000)

# pottery's Redlock.
from pottery import Redlock as Pottery
mine = Pottery(key="report", masters={r}, auto_release_time=60)
theirs = Pottery(key="report", masters={r}, auto_release_time=60)
assert mine.acquire(blocking=False) and not theirs.acquire(blocking=False)
assert 0 < mine.locked() <= 60
mine.extend()
mine.release()
assert not mine.locked() and theirs.acquire(blocking=False)
theirs.release()

# dogpile.cache with its lock between processes.
from dogpile.cache import make_region
region = make_region().configure("dogpile.cache.redis", arguments={
    "host": host, "port": int(port), "db": 9, "distributed_lock": True, "lock_timeout": 60, "lock_sleep": 0.005, "thread_local_lock": False})
made = []
def create():
    made.append(1)
    return "made"
values = []
threads = [threading.Thread(target=lambda: values.append(region.get_or_create("k", create))) for _ in range(6)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert values == ["made"] * 6 and len(made) == 1, (values, made)
assert r.keys("_lock*") == []
print("locks")
