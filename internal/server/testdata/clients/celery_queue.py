"""Celery with Redis as broker and as result backend, with a worker of its own process on another server."""
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import celery
from celery import chain, chord, group
from celery.exceptions import TaskRevokedError
from celery.result import AsyncResult
from celery_tasks import add, app, fail, flaky, signals, total, wait_for
from waiting import connect, there, until

for db in (4, 5, 6):
    connect(db).flushdb()
backend = connect(5)
inspect = app.control.inspect(timeout=30, limit=1)


def waits():
    """Whether the worker waits on the other server, and not here."""
    here, other = (connect(4, name).info("clients")["blocked_clients"] for name in ("REDIS_ADDR", "OTHER_ADDR"))
    return other > 0 and here == 0


def results():
    before = time.monotonic()
    assert add.delay(2, 3).get(timeout=60) == 5
    print(f"one result after {time.monotonic() - before:.3f} s")
    assert [r.get(timeout=60) for r in [add.delay(i, i) for i in range(50)]] == [2 * i for i in range(50)]
    assert group(add.s(i, 1) for i in range(20)).delay().get(timeout=60) == list(range(1, 21))
    assert chain(add.s(1, 2), add.s(10), add.s(100)).delay().get(timeout=60) == 113
    assert chord(add.s(i, i) for i in range(20))(total.s()).get(timeout=60) == 380
    assert chord([chain(add.s(i, 1), add.s(1)) for i in range(5)])(total.s()).get(timeout=60) == 20
    assert flaky.delay().get(timeout=60) == 2
    try:
        raise SystemExit(f"a failed task gave {fail.delay('why').get(timeout=60)}")
    except ValueError as e:
        assert str(e) == "why", e
    stored = add.delay(1, 1)
    assert stored.get(timeout=60) == 2 and AsyncResult(stored.id, app=app).state == "SUCCESS"
    assert 0 < backend.ttl("celery-task-meta-" + stored.id) <= 86400
    stored.forget()
    assert AsyncResult(stored.id, app=app).state == "PENDING"


def pushed(name):
    """The result comes by pub/sub to a client that waits; its states on the way too."""
    task, got, states = wait_for.delay(name), [], []
    channel = f"celery-task-meta-{task.id}".encode()
    waiting = threading.Thread(target=lambda: got.append(task.get(timeout=60, on_message=lambda m: states.append(m["status"]))))
    waiting.start()
    assert signals.brpop("begun:" + name, 60), "the task did not begin"
    until(lambda: channel in backend.pubsub_channels(), "a subscription to the result")
    signals.lpush("go:" + name, "the signal")
    waiting.join(60)
    assert got == ["the signal"] and states[-1] == "SUCCESS", (got, states)
    until(lambda: channel not in backend.pubsub_channels(), "the end of the subscription")


def later():
    began = time.monotonic()
    assert add.apply_async((1, 2), countdown=1).get(timeout=60) == 3
    assert time.monotonic() - began >= 0.9, "a task with a countdown ran too early"


def revoked():
    waiting = add.apply_async((1, 2), countdown=3600)
    until(lambda: any(waiting.id == t["request"]["id"] for ts in (inspect.scheduled() or {}).values() for t in ts), "a scheduled task")
    waiting.revoke()
    until(lambda: any(waiting.id in ids for ids in (inspect.revoked() or {}).values()), "a revoked task")
    running = wait_for.delay("never")
    assert signals.brpop("begun:never", 60), "the task did not begin"
    running.revoke(terminate=True)
    try:
        raise SystemExit(f"a terminated task gave {running.get(timeout=60)}")
    except TaskRevokedError:
        pass


def control(name):
    assert app.control.ping(timeout=30, limit=1) == [{name: {"ok": "pong"}}]
    assert [q["name"] for q in inspect.active_queues()[name]] == ["celery"]
    assert {"celery_tasks.add", "celery_tasks.total"} <= set(inspect.registered()[name])


with tempfile.NamedTemporaryFile("w+", prefix="celery", suffix=".log") as log:
    name = "worker@clients"
    worker = subprocess.Popen([sys.executable, "-m", "celery", "-A", "celery_tasks", "worker", "-n", name, "-c", "2", "--loglevel", "INFO"],
                              cwd=os.path.dirname(os.path.abspath(__file__)), stdout=log, stderr=log,
                              env=there(), start_new_session=True)
    # Celery does not wait for the confirmation of SUBSCRIBE, and the first one of a server reaches the others after 250 ms.
    first = backend.pubsub()
    first.subscribe("first")
    until(lambda: first.get_message(timeout=1), "the first subscription of the server")
    try:
        if there()["REDIS_ADDR"] != os.environ["REDIS_ADDR"]:
            until(lambda: worker.poll() is not None or waits(), "the worker on its own server", 120)
        until(lambda: worker.poll() is not None or app.control.ping(timeout=1, limit=1), "the worker", 120)
        results()
        pushed("a")
        pushed("b")
        later()
        control(name)
        revoked()
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0, "the worker did not end in order"
        # What was sent while no worker ran waits in the broker, and can be counted and dropped.
        left = connect(4).llen("celery")
        for i in range(3):
            add.delay(i, i)
        assert connect(4).llen("celery") == left + 3 and app.control.purge() == left + 3
    except BaseException:
        log.seek(0)
        print(log.read()[-5000:], file=sys.stderr)
        raise
    finally:
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)  # and the processes of its tasks
            worker.wait()
print("Celery", celery.__version__)
