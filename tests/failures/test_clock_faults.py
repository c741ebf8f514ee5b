"""Wrong clocks: a worker's, and the database's."""

import pytest
from django.db import connection

from orders.models import Event
from tests.support.system import System
from tests.support.wait import until

SHIFTED_CLOCK = """
import datetime, time
_shift = float(os.environ["CLOCK_SHIFT"])
_time, _real = time.time, datetime.datetime
class _Kind(type):
    def __instancecheck__(cls, one):
        return isinstance(one, _real)
    def __subclasscheck__(cls, one):
        return issubclass(one, _real)
class _Shifted(_real, metaclass=_Kind):
    @classmethod
    def now(cls, tz=None):
        return _real.now(tz) + datetime.timedelta(seconds=_shift)
    @classmethod
    def utcnow(cls):
        return _real.now(datetime.UTC).replace(tzinfo=None) + datetime.timedelta(seconds=_shift)
time.time = lambda: _time() + _shift
datetime.datetime = _Shifted
"""


@pytest.mark.pattern("A5", "V1", "F27")
@pytest.mark.parametrize("shift", [3600, -3600])
def test_workers_whose_clocks_are_an_hour_off_lose_no_order(system: System, shift: int) -> None:
    """The database's clock alone decides what is overdue. A worker uses its own clock for pauses only."""
    system.start_all("submission", "jobs")
    for role in ("scheduler", "agents"):
        system.start(role, before=SHIFTED_CLOCK, CLOCK_SHIFT=f"{shift}")
    system.place(4)
    assert system.wait_until_ended() == ["processed"] * 4
    assert not Event.objects.filter(kind="step_timed_out").exists()
    system.faults("carrier", hang_rate=1.0)
    system.place(1)
    until(
        lambda: Event.objects.filter(kind__in=["step_timed_out", "step_deferred"]).exists(),
        what="the time-out",
    )
    system.no_faults()
    assert system.wait_until_ended() == ["processed"] * 5
    system.check()


TIMES = {
    "orders_stepstate": ("complete_by", "settles_at", "not_before", "sent_at", "waiting_since"),
    "orders_orderprocess": ("complete_by", "not_before"),
    "orders_agentrequest": ("complete_by", "leased_until"),
    "orders_agentinstance": ("seen_at",),
    "orders_circuit": ("probe_at", "closed_at", "window_at"),
    "orders_leaderlease": ("expires_at", "swept_at"),
}


def _move_all_times(seconds: int) -> None:
    """Has the same effect as a jump of the database's clock in the other direction."""
    with connection.cursor() as cursor:
        for table, columns in TIMES.items():
            moves = ", ".join(f"{name} = {name} + {seconds} * interval '1 second'" for name in columns)
            cursor.execute(f"UPDATE {table} SET {moves}")


@pytest.mark.pattern("V1", "A7", "F27")
def test_a_database_clock_that_jumps_five_minutes_loses_no_order(system: System) -> None:
    """Forward: everything under way is overdue at once and is retried. Back: every wait lasts longer."""
    system.start_all()
    system.faults("carrier", latency_ms=[500, 1500])
    for seconds in (-300, 300):
        before = Event.objects.count()
        system.place(6)
        until(lambda before=before: Event.objects.count() > before + 20, what="work under way")
        _move_all_times(seconds)
        # Before the next jump, or the steps that the first jump made overdue would no longer be, and wait for minutes.
        system.wait_until_ended()
    assert system.states() == ["processed"] * 12
    system.no_faults()
    system.check()
