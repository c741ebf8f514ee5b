"""Watches a fake cluster: python -m tests.launcher.watched FILE BEHAVIOUR [--pipe] [--impatient] [--two].

FILE stands for the database and contains "sweeping" (a supervisor sweeps), "still" (none does) or "down" (no database).
With --impatient a sweep is missed after a second or two, otherwise only after minutes, however busy the machine is.
"""

import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from sasweb.launcher import jobs_watch


def last_sweep() -> datetime | None:
    content = Path(sys.argv[1]).read_text()
    if content == "down":
        raise ConnectionError
    return datetime.now(UTC) if content == "sweeping" else None


def main() -> None:
    jobs_watch.STOP_GRACE = 1.0
    jobs_watch.ASK_EVERY = 0.05
    patience = {"stale_after": 1.0, "grace": 2.0} if "--impatient" in sys.argv else {}
    cluster = jobs_watch.Cluster(
        name="first",
        argv=[sys.executable, "-m", "tests.launcher.fake_cluster", sys.argv[2]],
        last_sign=last_sweep,
        standstill="no supervisor has swept for 20 s",
        **{"stale_after": 300.0, "grace": 300.0, **patience},
    )
    clusters = [cluster]
    if "--two" in sys.argv:
        clusters.append(replace(cluster, name="second", last_sign=lambda: datetime.now(UTC)))
    watch = jobs_watch.JobsWatch(
        clusters, unreachable=ConnectionError, say=lambda text: print(text, flush=True)
    )
    watch.run(pipe=0 if "--pipe" in sys.argv else None)


main()
