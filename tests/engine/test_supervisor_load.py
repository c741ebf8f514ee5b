"""What a sweep costs, and an order that breaks it (V3, V7)."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from orders.engine.supervisor.role import LONGEST_PAUSE
from orders.models import Alert, Event, LeaderLease, OrderProcess, StepState
from tests.support.factories import ago, ahead, step_of
from tests.support.overdue import overdue, processing
from tests.support.roles import (
    a_leader,
    alerts_of,
    clones,
    event_of,
    everything,
    stored,
)

pytestmark = pytest.mark.django_db


# --- poison


@pytest.mark.pattern("V3", "V7")
@pytest.mark.parametrize("place", [0, 4, 7])
def test_an_order_that_breaks_the_sweep_is_set_aside_alone_and_the_others_are_recovered(place: int) -> None:
    orders = [processing({"mix": overdue(complete_by=ago(100 - n))}) for n in range(9)]
    bad = orders[place]
    StepState.objects.filter(process=bad, name="mix").update(name="frost")
    leader = a_leader(batch=4)
    done = leader.run_once().done
    assert done["recovered"] == 8
    assert done["failed_passes"] <= 10
    assert {order.pk: stored(order).process_state for order in orders} == {
        order.pk: "error" if order is bad else "pending" for order in orders
    }
    assert alerts_of(bad) == [("unprocessable", "", "KeyError")]
    assert Alert.objects.count() == 1
    frost = step_of(bad, "frost")
    assert (frost.state, frost.complete_by, frost.outcome) == ("failed", None, "unknown")
    assert "frost" in event_of(bad, "error").detail["reason"]
    # The next sweep does not find it again.
    before = everything(bad)
    assert leader.run_once().done["found"] == 0
    assert everything(bad) == before


@pytest.mark.pattern("V3", "V7")
def test_an_order_that_overran_is_not_set_aside_for_the_fault_of_another() -> None:
    bad = processing({"mix": overdue()})
    StepState.objects.filter(process=bad, name="mix").update(name="frost")
    innocent = processing({"mix": "completed", "heat-oven": "completed"}, complete_by=ago(1))
    leader = a_leader()
    for _ in range(3):
        leader.run_once()
    assert (stored(bad).process_state, stored(innocent).process_state) == ("error", "pending")
    assert alerts_of(innocent) == []


@pytest.mark.pattern("V3", "V7")
def test_an_order_that_breaks_the_sweep_is_set_aside_although_many_before_it_are_left_alone() -> None:
    """They are on a workflow that this release does not have, so they stay the longest overdue."""
    others = [processing({"mix": overdue(complete_by=ago(100))}) for _ in range(4)]
    OrderProcess.objects.filter(pk__in=[order.pk for order in others]).update(version=2)
    bad, good = (processing({"mix": overdue(complete_by=ago(10))}) for _ in range(2))
    StepState.objects.filter(process=bad, name="mix").update(name="frost")
    a_leader(batch=4).run_once()
    assert [stored(order).process_state for order in (bad, good)] == ["error", "pending"]
    assert alerts_of(bad) == [("unprocessable", "", "KeyError")]


def test_an_order_that_is_no_longer_overdue_is_not_set_aside() -> None:
    order = processing({"mix": "running"})
    before = everything(order)
    leader = a_leader()
    leader.run_once()
    leader._set_aside([order.pk], RuntimeError("an older release could not handle it"))
    assert (everything(order), Alert.objects.exists()) == (before, False)


# --- load


@pytest.mark.pattern("V7")
def test_a_sweep_takes_the_same_few_statements_for_one_overdue_order_and_for_six_hundred() -> None:
    counted = []
    leader = a_leader(batch=1000)
    leader.run_once()
    for number in (1, 600):
        order = processing({"mix": overdue()})
        clones(order, number - 1)
        with CaptureQueriesContext(connection) as captured:
            assert leader.run_once().done["recovered"] == number
        counted.append(len(captured))
    assert counted[0] == counted[1] <= 16
    assert OrderProcess.objects.filter(process_state="pending").count() == 601
    assert Event.objects.filter(kind="step_timed_out").count() == 601


@pytest.mark.pattern("V7", "V1")
def test_one_run_sweeps_everything_overdue_in_batches() -> None:
    clones(processing({"mix": overdue()}), 249)
    leader = a_leader(batch=100)
    done = leader.run_once().done
    assert (done["found"], done["recovered"]) == (250, 250)
    assert OrderProcess.objects.filter(process_state="pending").count() == 250
    assert LeaderLease.objects.get().last_sweep["found"] == 250


@pytest.mark.pattern("V7", "F30")
def test_a_long_sweep_leaves_as_much_time_as_it_takes_and_keeps_the_lease() -> None:
    """Ten thousand steps that expire at once must not take the processor from new orders."""
    clones(processing({"mix": overdue()}), 249)
    pauses: list[float] = []
    swept: list[int] = []

    def pause(seconds: float) -> None:
        lease = LeaderLease.objects.get()
        assert lease.expires_at is not None and lease.expires_at > ahead(LONGEST_PAUSE)
        pauses.append(seconds)
        swept.append(lease.last_sweep["found"])

    leader = a_leader(batch=100, pause=pause)
    assert leader.run_once().done["recovered"] == 250
    assert swept == [100, 200]
    assert all(0 < seconds <= LONGEST_PAUSE for seconds in pauses)
    leader.run_once()
    assert len(pauses) == 2  # a sweep that finds nothing more ends at once


@pytest.mark.pattern("V7")
def test_a_sweep_that_takes_too_long_leaves_the_rest_to_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orders.engine.supervisor.role.LONGEST_SWEEP", 0.0)
    clones(processing({"mix": overdue()}), 24)
    leader = a_leader(batch=10)
    assert [leader.run_once().done["found"] for _ in range(4)] == [10, 10, 5, 0]


@pytest.mark.pattern("V7")
def test_a_sweep_with_nothing_to_do_is_a_handful_of_statements() -> None:
    clones(processing({"mix": "running"}), 99)
    leader = a_leader()
    leader.run_once()
    with CaptureQueriesContext(connection) as captured:
        assert leader.run_once().done["found"] == 0
    assert len(captured) <= 8
