"""What an order costs the database: statements, round trips, transactions and bytes of WAL, as counts.

    .venv/bin/python -m bench path [--times N]

An order of four steps, whose agents answer at once, goes from the submission queue to Processed, alone and with 99
others. The roles make their passes in turn in one process. Each pass counts as its cheapest among several: what a role
does by the clock, or only every few passes, is left out. So the counts are the same on every machine, and
tests/bench/test_path.py holds them.
"""

import argparse
import contextlib
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from unittest.mock import patch

import psycopg
from uuid_utils.compat import uuid7

from bench import noop, server, tables
from bench.trace import Trace
from orders.engine.channels import low_water
from orders.engine.channels.submissions import post
from orders.engine.contracts import Workflow
from orders.engine.intakes import AcceptedOrder, ClosedOrder, IntakeAnswer, Submission
from orders.engine.runtime import whole_reads
from orders.engine.scheduler import role as scheduler
from orders.engine.submission import Submitter, SubmitterConfig
from tests.support.roles import Role, a_host, a_scheduler
from tests.support.system import database_url

WORKFLOWS = {(noop.FOUR.name, noop.FOUR.version): noop.FOUR}
MANY = 100
MOST_TURNS = 20
"""Turns of agent host and scheduler after which an order counts as lost."""


class Costs(NamedTuple):
    """What passes have cost. `writing` are the transactions that got a number, because they wrote, with savepoints."""

    statements: int
    round_trips: int
    transactions: int
    writing: int
    wal_bytes: int


class Pass(NamedTuple):
    """A pass of a role, and what it has cost."""

    role: str
    costs: Costs


class Path:
    """The roles, whose passes are counted."""

    def __init__(self, trace: Trace) -> None:
        self._watch = psycopg.connect(database_url(), autocommit=True)
        self._trace = trace
        self._roles: dict[str, Role] = {
            "submission": Submitter(
                config=SubmitterConfig(instance="submission:bench"), intake=NoopIntake(), workflows=WORKFLOWS
            ),
            "scheduler": a_scheduler(workflows=WORKFLOWS),
        }

    def follow(self, count: int) -> list[Pass]:
        """Takes this many orders to Processed, and returns the passes that it took. Raises `RuntimeError`."""
        ends = server.processed() + count
        for _ in range(count):
            post(order_id=uuid7(), client="guest", body={})
        passes = [self._make_pass("submission"), self._make_pass("scheduler")]
        for _ in range(MOST_TURNS):
            passes += [self._make_pass("agent host"), self._make_pass("scheduler")]
            if server.processed() == ends:
                return passes
        raise RuntimeError(f"{ends - server.processed()} of {count} orders are not Processed")

    def idle(self) -> list[Pass]:
        """A pass of each role with nothing to do."""
        return [self._make_pass(name) for name in ("submission", "scheduler", "agent host")]

    def _make_pass(self, name: str) -> Pass:
        # A host can only run once.
        role = self._roles.get(name) or a_host(noop.Noop("noop"))
        self._trace.take()
        numbers, position = self._position()
        role.run_once()
        later_numbers, later_position = self._position()
        return Pass(name, Costs(*self._trace.take(), later_numbers - numbers, later_position - position))

    def _position(self) -> tuple[int, int]:
        """How many transactions have got a number, and how many bytes of WAL have been written, since the server was
        made."""
        row = self._watch.execute(
            """
            SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint, (pg_current_wal_insert_lsn() - '0/0')::bigint
            """
        ).fetchone()
        assert row is not None
        return row[0], row[1]


@contextlib.contextmanager
def without_clocks() -> Iterator[None]:
    """Leaves out what roles do whenever a time has passed, which on a slow machine is at every pass."""
    with (
        patch.object(low_water, "REFRESH_PERIOD", math.inf),
        patch.object(scheduler, "TIDY_SECONDS", math.inf),
        patch.object(whole_reads, "SHARE", math.inf),
    ):
        yield


class NoopIntake:
    """Accepts every submission without rows of its own: the engine's part alone."""

    newest: Mapping[str, Workflow] = {noop.FOUR.name: noop.FOUR}
    unnamed = noop.FOUR.name

    def __call__(self, submissions: Sequence[Submission]) -> list[IntakeAnswer]:
        return [
            AcceptedOrder(
                submission=submission, workflow=noop.FOUR, priority=5, reply_to="", description={"n": 1}
            )
            for submission in submissions
        ]

    def close(self, submissions: Sequence[Submission]) -> list[ClosedOrder]:
        return []  # it refuses none


def cheapest(runs: Sequence[Sequence[Pass]]) -> dict[str, Costs]:
    """The costs of each role: the sums over its passes, each as its cheapest among the runs. Raises `ValueError` if the
    runs differ in their passes."""
    by_role = defaultdict(list)
    for passes in zip(*runs, strict=True):
        (role,) = {role for role, _ in passes}
        by_role[role].append(Costs(*map(min, zip(*(costs for _, costs in passes), strict=True))))
    return {role: Costs(*map(sum, zip(*costs, strict=True))) for role, costs in by_role.items()}


def lines(name: str, costs: dict[str, Costs], count: int = 1) -> Iterator[list[str | int | float]]:
    """The rows of the table: what an order costs each role, if `count` of them cost it as much as this."""
    for role, (*numbers, wal_bytes) in costs.items():
        shares = numbers if count == 1 else [number / count for number in numbers]
        yield [f"{name}: {role}", *shares, f"{wal_bytes / count:,.0f}"]


def main() -> None:
    """Counts and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m bench path", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--times",
        type=int,
        default=10,
        help="runs of each case, of which each pass counts as its cheapest; %(default)s by default",
    )
    options = parser.parse_args()
    server.empty()
    with without_clocks(), Trace() as trace:
        path = Path(trace)
        for count in (1, MANY):
            path.follow(count)  # a warm-up
        alone = cheapest([path.follow(1) for _ in range(options.times)])
        together = cheapest([path.follow(MANY) for _ in range(options.times)])
        idle = cheapest([path.idle() for _ in range(options.times)])
    rows = [*lines("alone", alone), *lines(f"one of {MANY}", together, MANY), *lines("idle pass", idle)]
    columns = ["", "statements", "round trips", "transactions", "writing", "bytes of WAL"]
    tables.print_table(columns, rows)


if __name__ == "__main__":
    main()
