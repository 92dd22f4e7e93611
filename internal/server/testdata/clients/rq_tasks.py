"""The jobs of rq_queue.py."""
import os

import redis

signals = redis.Redis.from_url("redis://" + os.environ["REDIS_ADDR"] + "/8")


def add(x, y):
    return x + y


def fail(why):
    raise ValueError(why)


def record(name):
    signals.rpush("recorded", name)


def wait_for(name):
    """Says that it has begun, and waits for a signal."""
    signals.lpush("begun:" + name, 1)
    return signals.brpop("go:" + name, 60)[1].decode()
