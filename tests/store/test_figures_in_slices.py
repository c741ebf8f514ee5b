"""A minute in which much happened holds up neither the supervisor's sweeps nor its heartbeats."""

import itertools
from collections import Counter
from datetime import timedelta
from functools import partial

import pytest

from orders.engine.figures.taking import BUDGET, FigureTaker
from orders.engine.runtime.sql import run
from orders.engine.supervisor import leadership
from orders.models import AgentFigures, AgentTally, LeaderLease, OrderFigures
from orders.models.figures import BUCKETS
from tests.store.test_figures import known_for, nothing
from tests.support.roles import a_leader
from tests.support.two_sessions import NewSession

SLICES = 4


@pytest.mark.django_db
def test_a_sweep_begins_no_slice_after_its_time_and_the_next_one_goes_on() -> None:
    known_for(timedelta(minutes=2))
    seconds = itertools.count(step=2 * BUDGET / SLICES)
    taker, beats, taken = FigureTaker(clock=lambda: next(seconds)), Counter[str](), []
    while not OrderFigures.objects.exists():
        taken.append(taker.run_once(nothing, beat=lambda: beats.update(["beat"])))
        assert len(taken) < 10
    assert taken[0] == 0
    assert beats["beat"] == SLICES


@pytest.mark.django_db
def test_agents_calls_are_those_of_the_minutes_end_however_long_the_rest_takes() -> None:
    known_for(timedelta(minutes=2))
    tally = AgentTally.objects.create(
        agent="oven", outcome="ok", calls=3, buckets=[3] + [0] * (BUCKETS - 1), seconds=1
    )
    taker = FigureTaker(clock=partial(next, itertools.count(step=BUDGET + 1)))
    taker.run_once(nothing, beat=nothing)
    AgentTally.objects.filter(pk=tally.pk).update(calls=70)
    for _ in range(SLICES + 1):
        taker.run_once(nothing, beat=nothing)
    assert AgentFigures.objects.get(span="minute").calls == 3


@pytest.mark.django_db(transaction=True)
@pytest.mark.pattern("V6")
def test_the_lease_is_renewed_while_a_minute_is_read(new_session: NewSession) -> None:
    known_for(timedelta(minutes=10))
    leader = a_leader()
    blocker, reader, other = new_session(), new_session(), new_session()
    blocker.begin()
    blocker.do(lambda: run("LOCK TABLE orders_order"))
    sweeping = reader.start(leader.run_once)
    reader.await_wait()
    term = LeaderLease.objects.get(pk="supervisor").term
    other.do(lambda: leadership.renew("supervisor", term=term, seconds=10, report={}))
    blocker.commit()
    sweeping.result(timeout=60)
    assert OrderFigures.objects.exists()
