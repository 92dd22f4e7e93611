"""The tasks of celery_queue.py, with Celery's default settings."""
import os

import redis
from celery import Celery

url = "redis://" + os.environ["REDIS_ADDR"]
app = Celery("celery_tasks", broker=url + "/4", backend=url + "/5")
signals = redis.Redis.from_url(url + "/6")


@app.task
def add(x, y):
    return x + y


@app.task
def total(numbers):
    return sum(numbers)


@app.task
def fail(why):
    raise ValueError(why)


@app.task(bind=True, max_retries=3)
def flaky(self):
    if self.request.retries < 2:
        raise self.retry(countdown=0)
    return self.request.retries


@app.task(bind=True)
def wait_for(self, name):
    """Says that it has begun, and waits for a signal."""
    self.update_state(state="PROGRESS", meta={"at": name})
    signals.lpush("begun:" + name, 1)
    return signals.brpop("go:" + name, 60)[1].decode()
