"""The supervisor as a job: it sweeps while it leads, stands by otherwise, and outlives its connection (V1, V6, V7)."""

import dataclasses
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from pytest_django import Settings

from orders import jobs
from orders.business import registry
from orders.models import Alert, Event, LeaderLease, OrderProcess
from sasweb.launcher import jobs_cluster
from tests.support.factories import ago, ahead, make_order
from tests.support.roles import end_other_connections, in_thread, staff, states, stored
from tests.support.wait import until

pytestmark = pytest.mark.django_db(transaction=True)

Period = Callable[[float], None]
LONG = 120.0
"""Seconds of a shift that the test ends itself."""


@pytest.fixture
def period(settings: Settings) -> Period:
    """Sets SUPERVISOR_PERIOD and FAILURE_THRESHOLD for the test."""

    def set_it(seconds: float, threshold: int = 3) -> None:
        settings.CONFIG = dataclasses.replace(
            settings.CONFIG, supervisor_period=seconds, failure_threshold=threshold
        )

    return set_it


@pytest.fixture
def stop_shifts(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Ends the running shifts, as the cluster does when it stops."""
    return lambda: monkeypatch.setattr(jobs_cluster._State, "is_stopping", True)


def an_overdue_order(**process: Any) -> OrderProcess:
    """An order of the shop whose first step is unanswered, although its agent runs."""
    staff(registry.workflows())
    (workflow,) = registry.workflows().values()
    first = {"state": "running", "complete_by": ago(1)}
    return make_order(
        {workflow.steps[0].name: first}, workflow=workflow, process_state="processing", **process
    )


def a_shift(seconds: float) -> "Future[None]":
    return in_thread(lambda: jobs.supervisor_shift(seconds))


def swept() -> bool:
    return LeaderLease.objects.filter(swept_at__isnull=False).exists()


def recovered(order: OrderProcess) -> bool:
    return stored(order).process_state == "pending"


@pytest.mark.pattern("V1", "V2")
def test_a_shift_sweeps_repeatedly(period: Period, stop_shifts: Callable[[], None]) -> None:
    period(0.05)
    first = an_overdue_order()
    shift = a_shift(LONG)
    until(lambda: recovered(first), what="the first order's recovery")
    second = an_overdue_order()
    until(lambda: recovered(second), what="the second order's recovery")
    stop_shifts()
    shift.result(timeout=60)
    assert LeaderLease.objects.get().term == 1
    assert Event.objects.filter(kind="step_timed_out").count() == 2
    assert (states(first), states(second)) == ({}, {})


@pytest.mark.pattern("V6")
def test_a_shift_gives_up_the_lead_at_its_end(period: Period) -> None:
    period(0.05)
    began = time.monotonic()
    jobs.supervisor_shift(0.2)
    assert time.monotonic() - began >= 0.2
    lease = LeaderLease.objects.get()
    assert (lease.holder, lease.expires_at, lease.term) == (None, None, 1)
    assert lease.swept_at is not None


@pytest.mark.pattern("V6", "V7")
def test_a_shift_stands_by_while_another_one_leads_and_takes_over_when_the_lease_lapses(
    period: Period, stop_shifts: Callable[[], None]
) -> None:
    period(0.02)
    LeaderLease.objects.create(name="supervisor", holder="supervisor:other", term=4, expires_at=ahead(60))
    order = an_overdue_order()
    standing_by = a_shift(LONG)
    early = a_shift(0.2)
    early.result(timeout=60)
    lease = LeaderLease.objects.get()
    assert (lease.holder, lease.term, lease.swept_at) == ("supervisor:other", 4, None)
    assert stored(order).process_state == "processing"
    assert end_other_connections() == 1  # standing by also uses a connection
    LeaderLease.objects.update(expires_at=ago(1))
    until(lambda: recovered(order), what="the order's recovery")
    assert LeaderLease.objects.get().term == 5
    stop_shifts()
    standing_by.result(timeout=60)
    assert LeaderLease.objects.get().holder is None


@pytest.mark.pattern("V6")
def test_of_two_simultaneous_shifts_one_leads_and_the_other_succeeds_it(
    period: Period, stop_shifts: Callable[[], None]
) -> None:
    period(0.02)
    short, long = a_shift(0.3), a_shift(LONG)
    while not short.done():
        order = an_overdue_order()
        until(lambda order=order: recovered(order), what="a recovery while both shifts run")
    short.result(timeout=60)
    last = an_overdue_order()
    until(lambda: recovered(last), what="the recovery by the remaining shift")
    stop_shifts()
    long.result(timeout=60)
    assert (LeaderLease.objects.get().term, LeaderLease.objects.get().holder) in [(1, None), (2, None)]
    timed_out = list(Event.objects.filter(kind="step_timed_out").values_list("order_id", flat=True))
    assert len(timed_out) == len(set(timed_out))


@pytest.mark.pattern("V6", "V7", "F18")
def test_a_shift_survives_its_connection_being_ended_and_keeps_sweeping(
    period: Period, stop_shifts: Callable[[], None]
) -> None:
    period(0.05)
    shift = a_shift(LONG)
    until(swept, what="the first sweep")
    assert end_other_connections() == 1
    order = an_overdue_order()
    until(lambda: recovered(order), what="a sweep on a new connection")
    stop_shifts()
    shift.result(timeout=60)
    lease = LeaderLease.objects.get()
    assert (lease.holder, lease.term) == (None, 1)


@pytest.mark.pattern("V6")
def test_a_shift_whose_connection_is_ended_in_its_last_wait_ends_quietly_and_gives_up_the_lead(
    period: Period,
) -> None:
    period(3.0)
    shift = a_shift(0.4)
    until(swept, what="the only sweep")
    assert end_other_connections() == 1
    shift.result(timeout=60)
    assert LeaderLease.objects.get().holder is None


@pytest.mark.pattern("V3", "V6")
def test_a_shift_that_lost_the_lead_changes_nothing_and_stands_by(period: Period) -> None:
    period(0.05)
    shift = a_shift(0.6)
    until(swept, what="the first sweep")
    LeaderLease.objects.update(holder="supervisor:other", term=2, expires_at=ahead(60))
    order = an_overdue_order()
    shift.result(timeout=60)
    lease = LeaderLease.objects.get()
    assert (lease.holder, lease.term) == ("supervisor:other", 2)
    assert stored(order).process_state == "processing"


@pytest.mark.pattern("V3")
def test_the_configured_threshold_decides_when_a_shift_escalates(period: Any) -> None:
    period(0.05, threshold=1)
    order = an_overdue_order()
    jobs.supervisor_shift(0.1)
    assert stored(order).process_state == "error"
    assert Alert.objects.get().order_id == order.pk
