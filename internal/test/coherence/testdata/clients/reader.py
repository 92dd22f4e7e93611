"""Reads keys at random through redis-py's client-side cache, and prints what it saw as package coherence wants it."""
import faulthandler
import random
import signal
import sys
import threading
import time

import redis
import redis.connection
from redis.backoff import NoBackoff
from redis.cache import CacheConfig, CacheEntryStatus
from redis.observability.attributes import CSCResult
from redis.retry import Retry

*fault, address, database, keys = sys.argv[1:]
database, keys = int(database), int(keys)
now = time.monotonic_ns  # CLOCK_MONOTONIC, as all readers
redis.connection.CacheProxyConnection.MIN_ALLOWED_VERSION = "7.0.0"  # redis-py asks for 7.4 in the answer to HELLO

faulthandler.register(signal.SIGQUIT)

# redis-py counts hits for OpenTelemetry alone.
hits = 0


def count(result):
    global hits
    hits += result is CSCResult.HIT


redis.connection.record_csc_request = count

output = threading.Lock()
ended = threading.Event()


def say(*words):
    with output:
        print(*words, flush=True)


def listen():
    for _ in sys.stdin:
        say("clock", now())
    ended.set()


runs = {}  # key -> value, hit, reads, first moment, last moment


def note(key, value, hit, moment):
    run = runs.get(key)
    if run and run[:2] == [value, hit]:
        run[2] += 1
        run[4] = moment
    else:
        flush(key)
        runs[key] = [value, hit, 1, moment, moment]


def flush(key):
    if run := runs.pop(key, None):
        value, hit, reads, first, last = run
        say("read", key, value, hit, reads, *first, *last)


def forget_unanswered(cache):
    """Drops what was asked for and has not come. With such an entry redis-py waits for ever for an answer that it has
    not asked for again, and an answer that is an error leaves one (redis-py 8.1.0)."""
    waiting = [key for key, entry in cache.collection.items() if entry.status == CacheEntryStatus.IN_PROGRESS]
    return len(cache.delete_by_cache_keys(waiting))


def keeps_copies_of_a_lost_connection(r):
    """A fault: nothing drops the copies when the connection ends, but those that were asked for and have not come."""
    cache = r.get_cache()
    cache.flush = lambda: forget_unanswered(cache)


threading.Thread(target=listen, daemon=True).start()
host, port = address.rsplit(":", 1)
# By default redis-py waits for seconds before it tries again.
r = redis.Redis(host=host, port=int(port), db=database, protocol=3, cache_config=CacheConfig(), retry=Retry(NoBackoff(), 0))
if fault:
    keeps_copies_of_a_lost_connection(r)
mine = range(database, keys, 2)
fence = failed = 0
while not ended.is_set():
    begin = now()
    try:
        r.ping()
        fence = begin
    except redis.RedisError:
        time.sleep(0.005)
    for _ in range(64):
        key = random.choice(mine if random.random() < 0.5 else mine[:4])
        before, begin = hits, now()
        try:
            value = r.get(f"key-{key:04d}")
        except redis.RedisError:
            failed += 1
            forget_unanswered(r.get_cache())
            break
        note(key, int(value or 0), int(hits > before), (begin, now(), fence))
    time.sleep(0.001)
for key in list(runs):
    flush(key)
say("end", hits, failed)
