"""The supervisor runs in a django-q2 cluster, any child of which may be killed."""

import contextlib
import os
import signal
from datetime import datetime
from pathlib import Path

import pytest

from orders.models import Event, LeaderLease
from orders.selectors.desk.supervisor import last_sweep_at
from tests.support.system import Process, System
from tests.support.wait import until


def _swept_since(moment: datetime) -> bool:
    last = last_sweep_at()
    return last is not None and last > moment


def _first_sweep() -> datetime:
    return until(last_sweep_at, what="the first sweep")


def _leader_pid() -> int:
    holder = LeaderLease.objects.get().holder
    return int(holder.split(":")[2]) if holder else 0


def _cluster_children(jobs: Process) -> dict[int, str]:
    """The processes below run_jobs, with their roles in the cluster as django-q2 names them."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    children: dict[int, str] = {}
    level = {jobs.pid}
    depth = 0
    while level:
        depth += 1
        level = {pid for pid, parent in parents.items() if parent in level}
        children |= dict.fromkeys(level, f"depth {depth}")
    return children


@pytest.mark.pattern("V6", "V1", "V2")
def test_when_the_leading_supervisor_is_killed_another_takes_over_where_it_stopped(system: System) -> None:
    """F17: its sweep is rolled back, and its successor recovers the step, once."""
    system.faults("carrier", hang_rate=1.0)
    system.start_all()
    _first_sweep()
    (order_id,) = system.place()
    until(
        lambda: Event.objects.filter(order_id=order_id, step="create-shipment").exists(),
        what="the hanging step",
    )
    term, leader = LeaderLease.objects.get().term, _leader_pid()
    os.kill(leader, signal.SIGKILL)
    system.no_faults()
    assert system.wait_until_ended() == ["processed"]
    assert until(lambda: LeaderLease.objects.get().term > term, what="the successor's term")
    timed_out = Event.objects.filter(order_id=order_id, kind="step_timed_out").values_list(
        "attempt", flat=True
    )
    assert sorted(timed_out) == sorted(set(timed_out))
    system.check()


@pytest.mark.pattern("V6")
def test_a_leader_stopped_for_longer_than_its_lease_changes_nothing_when_it_wakes(system: System) -> None:
    """F19: by then another supervisor leads, and the first one's term is over."""
    system.start_all("submission", "scheduler", "agents")
    first, second = system.start("jobs"), system.start("jobs")
    _first_sweep()
    system.place(5)
    leader, term = _leader_pid(), LeaderLease.objects.get().term
    os.kill(leader, signal.SIGSTOP)
    try:
        until(lambda: LeaderLease.objects.get().term > term, what="the successor's term")
        successor = LeaderLease.objects.get()
    finally:
        # A watch that saw no sweep for too long has replaced its process group, and the leader is gone.
        with contextlib.suppress(ProcessLookupError):
            os.kill(leader, signal.SIGCONT)
    moment = last_sweep_at()
    assert moment is not None
    until(lambda: _swept_since(moment), what="the successor's next sweep")
    assert LeaderLease.objects.get().term >= successor.term
    assert _leader_pid() != leader
    assert (first.name, second.name) == ("jobs", "jobs")
    assert system.wait_until_ended() == ["processed"] * 5
    system.check()


@pytest.mark.pattern("V1", "V7")
def test_sweeps_continue_whichever_child_of_the_cluster_is_killed(system: System) -> None:
    """django-q2 does not survive the loss of some of its own children; the watch replaces them all."""
    system.faults("carrier", error_rate=0.5)
    jobs = system.start_all()["jobs"]
    _first_sweep()
    for depth in ("depth 1", "depth 2", "depth 3"):
        # The last sweep may still be the former cluster's, while the new cluster is starting.
        children = until(
            lambda depth=depth: sorted(pid for pid, at in _cluster_children(jobs).items() if at == depth),
            what=f"a process at {depth}",
        )
        victims = children if depth != "depth 3" else [children[0], children[-1]]
        for victim in victims:
            if victim not in _cluster_children(jobs):
                continue
            system.place(3)
            moment = last_sweep_at()
            assert moment is not None
            os.kill(victim, signal.SIGKILL)
            until(
                lambda moment=moment: _swept_since(moment),
                what=f"a sweep after {depth} was killed",
            )
    system.no_faults()
    assert set(system.wait_until_ended()) == {"processed"}
    system.check()
