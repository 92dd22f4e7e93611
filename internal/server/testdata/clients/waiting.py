"""What the scripts about messages share: where the servers are, and how to wait for a condition."""
import os
import subprocess
import time

import redis


def address(name="REDIS_ADDR"):
    """The host and port of a server. OTHER_ADDR is another server on the same database; plain Redis has none, and stands for it."""
    host, port = (os.environ.get(name) or os.environ["REDIS_ADDR"]).rsplit(":", 1)
    return {"host": host, "port": int(port)}


def connect(db, name="REDIS_ADDR", **options):
    return redis.Redis(**address(name), db=db, **options)


def there():
    """The environment of a process whose server is the other one."""
    return {**os.environ, "REDIS_ADDR": os.environ.get("OTHER_ADDR") or os.environ["REDIS_ADDR"]}


def until(condition, what, seconds=30):
    """Waits for condition() to be true, and returns its value."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise SystemExit(f"waited {seconds} s for: {what}")
        time.sleep(0.005)
    return value


def sql(statement):
    """Runs a statement with psql, and returns its output, or None where there is no PostgreSQL behind the server."""
    url = os.environ.get("DATABASE_URL")
    if not url:
        return None
    done = subprocess.run(["psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement, url], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
