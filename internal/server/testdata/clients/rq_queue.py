"""RQ: queues, workers in a burst and blocking on another server, scheduled jobs, results, commands to workers by pub/sub."""
import os
import signal
import subprocess
import sys
import tempfile
from datetime import timedelta

import rq
from rq import Queue, Retry, SimpleWorker, Worker
from rq.command import send_shutdown_command, send_stop_job_command
from rq.job import Job
from rq.registry import ScheduledJobRegistry
from rq_tasks import add, fail, record, signals, wait_for
from waiting import address, connect, there, until

r = connect(7)
r.flushdb()
signals.flushdb()
queue, urgent = Queue(connection=r), Queue("urgent", connection=r)
other = connect(7, "OTHER_ADDR")


def burst():
    """A worker that ends when the queues are empty: urgent jobs first, dependent ones after what they need."""
    job, broken = queue.enqueue(add, 2, 3), queue.enqueue(fail, "why")
    after = queue.enqueue(record, "after", depends_on=job)
    first = urgent.enqueue(record, "urgent")
    queue.enqueue(record, "normal")
    assert queue.count == 3 and urgent.count == 1 and after.get_status() == "deferred"
    assert SimpleWorker([Queue("urgent", connection=other), Queue(connection=other)], connection=other).work(burst=True)
    assert job.result == 5 and job.is_finished and first.is_finished and after.get_status(refresh=True) == "finished"
    assert broken.is_failed and "ValueError: why" in Job.fetch(broken.id, connection=r).exc_info
    assert broken.id in queue.failed_job_registry and job.id in queue.finished_job_registry
    assert signals.lrange("recorded", 0, -1) == [b"urgent", b"normal", b"after"], signals.lrange("recorded", 0, -1)
    broken.requeue()
    assert queue.job_ids == [broken.id]
    queue.empty()
    assert 0 < r.ttl(job.key) <= 500


def blocking(worker):
    """A worker that waits: jobs, retries, scheduled jobs, and the commands to stop a job and to end."""
    until(lambda: worker.poll() is not None or Worker.count(connection=r) == 1, "the worker")
    jobs = [queue.enqueue(add, i, i) for i in range(10)]
    # The worker stores the result of a job after its status.
    until(lambda: all(j.get_status() == "finished" and j.result is not None for j in jobs), "ten jobs")
    assert [j.result for j in jobs] == [2 * i for i in range(10)]
    again = queue.enqueue(fail, "again", retry=Retry(max=2))
    until(lambda: again.get_status() == "failed", "a job that failed three times")
    assert Job.fetch(again.id, connection=r).retries_left == 0
    soon = queue.enqueue_in(timedelta(seconds=1), add, 20, 22)
    assert soon.id in ScheduledJobRegistry(queue=queue)
    until(lambda: soon.result == 42, "a scheduled job")
    waiting = queue.enqueue(wait_for, "signal")
    assert signals.brpop("begun:signal", 60), "the job did not begin"
    signals.lpush("go:signal", "the signal")
    until(lambda: waiting.result == "the signal", "the job")
    stopped = queue.enqueue(wait_for, "never")
    assert signals.brpop("begun:never", 60), "the job did not begin"
    send_stop_job_command(r, stopped.id)
    until(lambda: stopped.get_status() in ("stopped", "failed"), "the end of the job")
    send_shutdown_command(r, Worker.all(connection=r)[0].name)
    assert worker.wait(30) == 0 and Worker.count(connection=r) == 0


burst()
with tempfile.NamedTemporaryFile("w+", prefix="rq", suffix=".log") as log:
    at = address("OTHER_ADDR")
    worker = subprocess.Popen([sys.executable, "-m", "rq.cli", "worker", "--with-scheduler",
                               "--url", f"redis://{at['host']}:{at['port']}/7"],
                              cwd=os.path.dirname(os.path.abspath(__file__)), stdout=log, stderr=log,
                              env=there(), start_new_session=True)
    try:
        blocking(worker)
    except BaseException:
        log.seek(0)
        print(log.read()[-5000:], file=sys.stderr)
        raise
    finally:
        if worker.poll() is None:
            os.killpg(worker.pid, signal.SIGKILL)  # and the process of its job
            worker.wait()
print("RQ", rq.VERSION)
