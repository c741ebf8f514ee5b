"""Milliseconds of single orders, each from accepted to Processed: the engine with agents that answer at once, and its
contenders (bench/contenders). Everything is idle between two orders.
"""

import random
import time
from collections.abc import Sequence
from typing import Any

from bench import feeder, server
from bench.contenders import contest
from bench.contenders.app import PAUSES
from bench.contenders.environments import Unavailable
from tests.support.wait import until

NAMES = ("sasweb", *contest.CONTENDERS)


def engine(count: int) -> list[float]:
    """Measures the shipped scheduler and agent host, without the web and submission."""
    server.empty()
    pauses = random.Random(count)
    with server.processes(["bench.noop", "agents"], ["bench.noop", "scheduler"]):
        server.wait_for_agents("noop")
        for number in range(1, contest.WARM_UP + count + 1):
            if number == contest.WARM_UP + 1:
                began = server.database_time()
            server.fill_at_once(1)
            until(lambda: server.processed() >= number, what="the order")  # noqa: B023 - asked at once
            time.sleep(pauses.uniform(*PAUSES))
        return feeder.milliseconds_since(began)


def rows(count: int, names: Sequence[str]) -> list[list[Any]]:
    """A row of the table for each of the names that takes part."""
    table: list[list[Any]] = []
    for name in names:
        try:
            times = (
                engine(count)
                if name == "sasweb"
                else contest.measure_latency(contest.CONTENDERS[name], count)
            )
        except Unavailable as reason:
            contest.leave_out(name, reason)
            continue
        table.append([name, len(times), server.percentile(times, 50), server.percentile(times, 99)])
    return table
