"""A slow disk makes passes smaller, and blames no order (rule 11)."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection

from orders.engine.runtime import batch, sql
from orders.models import Alert, OrderProcess, SetAside, StepState, SubmissionMessage
from orders.shop.models import Product
from tests.support.factories import make_order
from tests.support.overdue import overdue, processing
from tests.support.roles import a_leader, a_scheduler, clones, drain
from tests.support.submissions import a_role, post

pytestmark = pytest.mark.django_db(transaction=True)
NUMBER = 100
MESSAGES = 30
"""Each inserts seven steps."""
LIMIT = 1.5
"""Seconds that a transaction may last here. With 5 s, as in production, these tests would take a minute."""


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    options = connection.settings_dict["OPTIONS"]
    monkeypatch.setitem(options, "options", f"-c transaction_timeout={LIMIT}s")
    monkeypatch.setattr(batch, "QUICK", LIMIT / 5)
    monkeypatch.setattr(sql, "TRANSACTION_LIMIT", LIMIT)
    connection.close()
    yield
    connection.close()


@contextmanager
def slow_steps() -> Iterator[None]:
    """Each row of a step takes at least 15 ms to write, so a transaction can write fewer than a hundred."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM pg_sleep(0.015); RETURN NEW; END $$;
            CREATE TRIGGER slow BEFORE INSERT OR UPDATE ON orders_stepstate FOR EACH ROW EXECUTE FUNCTION slow();
            """
        )
    try:
        yield
    finally:
        connection.close()
        with connection.cursor() as cursor:
            cursor.execute("DROP TRIGGER slow ON orders_stepstate; DROP FUNCTION slow()")


def nothing_is_blamed() -> bool:
    in_error = OrderProcess.objects.filter(process_state="error").exists()
    return not in_error and not SetAside.objects.exists() and not Alert.objects.exists()


@pytest.mark.pattern("C2")
def test_a_scheduler_on_a_slow_disk_takes_fewer_orders_at_once_and_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clones(make_order(), NUMBER - 1)
    with slow_steps():
        done = drain(a_scheduler())
    assert (done["started"], nothing_is_blamed()) == (2 * NUMBER, True)
    assert 1 <= done["slow_passes"] <= 12
    assert set(OrderProcess.objects.values_list("process_state", flat=True)) == {"processing"}
    assert {record.msg["event"] for record in caplog.records} >= {"database slow"}  # type: ignore[index]
    assert not any("unavailable" in str(record.msg) for record in caplog.records)


@pytest.mark.pattern("S2")
def test_submission_on_a_slow_disk_takes_fewer_messages_at_once_and_goes_on() -> None:
    Product.objects.create(sku="tidal-lines", title="Tidal Lines", artist="A", price=3900)
    ids = {post() for _ in range(MESSAGES)}
    with slow_steps():
        done = drain(a_role())
    assert (done["accepted"], nothing_is_blamed()) == (MESSAGES, True)
    assert 1 <= done["slow_passes"] <= 12
    assert set(OrderProcess.objects.values_list("pk", flat=True)) == ids
    assert not SubmissionMessage.objects.exists()


@pytest.mark.pattern("V2", "V7")
def test_a_sweep_on_a_slow_disk_takes_fewer_orders_at_once_and_keeps_the_lead() -> None:
    clones(processing({"mix": overdue()}), NUMBER - 1)
    leader = a_leader()
    with slow_steps():
        done = leader.run_once().done
    assert (done["recovered"], nothing_is_blamed()) == (NUMBER, True)
    assert done["slow_passes"] >= 1
    assert StepState.objects.filter(name="mix", failure_count=1).count() == NUMBER
