"""Watches a fake cluster: python -m tests.launcher.watched FILE BEHAVIOUR [--pipe] [--impatient].

FILE stands for the database and contains "sweeping" (a supervisor sweeps), "still" (none does) or "down" (no database).
With --impatient a sweep is missed after a second or two, otherwise only after minutes, however busy the machine is.
"""

import sys
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
    if "--impatient" in sys.argv:
        age = jobs_watch.SweepAge(stale_after=1.0, grace=2.0)
    else:
        age = jobs_watch.SweepAge(stale_after=300.0, grace=300.0)
    watch = jobs_watch.JobsWatch(
        [sys.executable, "-m", "tests.launcher.fake_cluster", sys.argv[2]],
        last_sweep=last_sweep,
        unreachable=ConnectionError,
        say=lambda text: print(text, flush=True),
        age=age,
    )
    watch.run(pipe=0 if "--pipe" in sys.argv else None)


main()
