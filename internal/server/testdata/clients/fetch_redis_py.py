"""The recipe for Python in docs/fetch.md, by many threads."""
import os
import re
import threading
import time
import redis

docs = os.path.join(os.path.dirname(__file__), "../../../../docs/fetch.md")
exec(re.search(r"```python\n(.*?)```", open(docs).read(), re.S).group(1))

host, port = os.environ["REDIS_ADDR"].rsplit(":", 1)
r = redis.Redis(host=host, port=int(port), db=5)
r.flushdb()

loads = []
def load():
    loads.append(1)
    time.sleep(0.2)
    return b"loaded"

values = []
threads = [threading.Thread(target=lambda: values.append(fetch(r, "k", load, 60_000))) for _ in range(20)]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert values == [b"loaded"] * 20 and len(loads) == 1, (values, loads)

def fail():
    raise ValueError("away")

try:
    fetch(r, "failing", fail, 60_000)
    raise SystemExit("the error was lost")
except ValueError:
    pass
assert fetch(r, "failing", lambda: b"again", 60_000) == b"again"
assert fetch(r, "nothing", lambda: None, 60_000) is None
assert fetch(r, "nothing", fail, 60_000) is None
print("fetch")
