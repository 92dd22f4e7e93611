"""Reads boards by Grafana's Foundation SDK and writes them again: what Grafana's schema
does not know would be lost on the way."""

import json
import re
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

# The schema of annotations does not have what those of Prometheus add.
PROMETHEUS = re.compile(r"^/annotations/list/\d+/(step|titleFormat|textFormat)$")


def lost(before, after, path=""):
    """The paths of what is not the same any more."""
    if isinstance(before, dict) and isinstance(after, dict):
        pairs = [(key, before[key], after.get(key)) for key in before]
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = [(i, before[i], after[i]) for i in range(len(before))]
    else:
        return [] if before == after else [path]
    return [found for key, b, a in pairs for found in lost(b, a, f"{path}/{key}")]


register_default_plugins()
for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as file:
        board = json.load(file)
    again = json.loads(json.dumps(Dashboard.from_json(board), cls=JSONEncoder))
    missing = [path for path in lost(board, again) if not PROMETHEUS.match(path)]
    if missing or not again["panels"]:
        sys.exit(f"{name}: the schema does not know:\n" + "\n".join(missing))
