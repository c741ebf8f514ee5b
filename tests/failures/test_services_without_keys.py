"""Remote services that recognise no idempotency keys, and can be asked: nothing is done twice (A7, F11)."""

from collections import Counter

import pytest

from orders.models import Alert, Event
from orders.services.order_changes import compensate_order
from tests.support.system import SERVICES, System
from tests.support.wait import until

pytestmark = [pytest.mark.pattern("A2", "A7", "F11", "F15")]


@pytest.fixture
def keyless(system: System) -> System:
    """A system whose services recognise no keys, and that knows it."""
    system.environment["KEY_RETENTION"] = "0"
    for service in SERVICES:
        system.faults(service, keyless=True)
    return system


def effects(system: System) -> Counter[str]:
    """How often each key had its effect."""
    return Counter(effect["key"] for service in SERVICES for effect in system.ledger(service))


def found_count() -> int:
    """How many calls were found to be done by asking."""
    return Event.objects.filter(kind="inquired", detail__finding="done").count()


def test_lost_replies_are_found_by_asking(keyless: System) -> None:
    keyless.start_all()
    for service in SERVICES:
        keyless.faults(service, lost_reply_rate=0.3)
    orders = keyless.place(25)
    assert keyless.wait_until_ended() == ["processed"] * 25
    forward = found_count()
    for order_id in orders:
        compensate_order(order_id=order_id, by="operator:test")
    assert keyless.wait_until_ended() == ["compensated"] * 25
    assert 5 < forward < found_count() - 5
    assert set(effects(keyless).values()) == {1}
    assert sum(effects(keyless).values()) == 25 * 8
    assert not Alert.objects.filter(order_id__isnull=False).exists()


def test_failed_lost_and_hanging_calls_and_killed_hosts_do_nothing_twice(keyless: System) -> None:
    keyless.environment |= {"FAILURE_THRESHOLD": "10", "STEP_COMPLETE_BY": "2"}
    host = keyless.start_all()["agents"]
    for service in SERVICES:
        keyless.faults(service, lost_reply_rate=0.2, error_rate=0.1, hang_rate=0.01, latency_ms=[0, 50])
    keyless.place(25)
    for kills in range(1, 3):
        until(
            lambda kills=kills: Event.objects.filter(kind="step_completed").count() >= 20 * kills,
            what="completed steps",
        )
        host.kill()
        host = keyless.start("agents")
    keyless.no_faults()
    for service in SERVICES:
        keyless.faults(service, keyless=True)
    assert keyless.wait_until_ended() == ["processed"] * 25
    assert set(effects(keyless).values()) == {1}
    assert sum(effects(keyless).values()) == 25 * 4
