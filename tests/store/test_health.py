"""What agents report about themselves: one row per instance and agent, until it stops or falls silent (A9)."""

import pytest

from orders.engine.agent_host.heartbeat import beat, forget
from orders.engine.agent_host.statistics import CallFigures
from orders.engine.runtime.sql import database_now
from orders.models import AgentInstance
from tests.support.factories import ago

pytestmark = pytest.mark.django_db


def report(
    instance: str = "agents:1", agent: str = "oven", in_flight: int = 3, figures: CallFigures | None = None
) -> None:
    beat(instance=instance, agent=agent, capacity=10, in_flight=in_flight, figures=figures or CallFigures())


@pytest.mark.pattern("A9")
def test_a_report_replaces_the_last_one_of_the_same_agent_in_the_same_process() -> None:
    report()
    report(agent="kitchen", in_flight=0)
    report(instance="agents:2", in_flight=9)
    AgentInstance.objects.update(started_at=ago(100), seen_at=ago(50))
    before = database_now()
    report(in_flight=7, figures=CallFigures(calls=5, failed_calls=2, mean_seconds=0.25))
    row = AgentInstance.objects.get(instance="agents:1", agent="oven")
    assert (row.capacity, row.in_flight, row.calls, row.failed_calls, row.mean_seconds) == (10, 7, 5, 2, 0.25)
    assert before < row.seen_at < database_now()
    assert row.started_at < before
    others = AgentInstance.objects.exclude(pk=row.pk).order_by("in_flight")
    assert [(other.in_flight, other.mean_seconds) for other in others] == [(0, None), (9, None)]
    assert all(other.seen_at < before for other in others)


@pytest.mark.pattern("A9")
def test_a_stopped_instance_is_removed_together_with_those_silent_for_ten_minutes() -> None:
    for instance, silent_for in (("stops", 0), ("silent", 601), ("slow", 590), ("well", 0)):
        report(instance=instance)
        AgentInstance.objects.filter(instance=instance).update(seen_at=ago(silent_for))
    report(instance="stops", agent="kitchen")
    forget("stops")
    assert set(AgentInstance.objects.values_list("instance", flat=True)) == {"slow", "well"}
