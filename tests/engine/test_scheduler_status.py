"""What the scheduler tells the submitting application (Q1–Q3)."""

import pytest

from orders.models import (
    OrderProcess,
    StatusMessage,
)
from tests.support.factories import make_order, make_reply, step_of
from tests.support.roles import (
    a_leader,
    a_scheduler,
    answer,
    expire,
    status_kinds,
    stored,
)

pytestmark = pytest.mark.django_db


@pytest.mark.pattern("Q1", "Q2", "Q3")
def test_an_application_gets_each_status_once_on_its_own_queue_with_the_order_id() -> None:
    done, failed = make_order(reply_to="app-1"), make_order(reply_to="app-2")
    compensated, silent = make_order(reply_to="app-1"), make_order()
    scheduler = a_scheduler()
    for _ in range(7):
        scheduler.run_once()
        answer("refused", order=failed, only=["bake"])
        for order in (done, failed, compensated, silent):
            answer(order=order)
        OrderProcess.objects.filter(pk=compensated.pk, process_state="processed").update(
            goal="compensate", process_state="pending"
        )
    for _ in range(8):
        scheduler.run_once()
        answer(order=compensated)
    assert status_kinds(done) == ["started", "completed"]
    assert status_kinds(failed) == ["started", "failed"]
    assert status_kinds(compensated) == ["started", "completed", "compensated"]
    assert status_kinds(silent) == []
    queues = set(StatusMessage.objects.values_list("queue", "order_id"))
    assert queues == {("app-1", done.pk), ("app-2", failed.pk), ("app-1", compensated.pk)}
    assert not StatusMessage.objects.filter(body__icontains="scheduler").exists()


@pytest.mark.pattern("Q3", "C7")
def test_an_application_is_notified_once_of_an_order_that_a_supervisor_put_into_error() -> None:
    order = make_order({"mix": "running"}, process_state="processing", reply_to="app-1")
    expire(order, "mix")
    a_leader(threshold=1).run_once()
    assert (stored(order).process_state, stored(order).announced, status_kinds(order)) == ("error", False, [])
    scheduler = a_scheduler()
    scheduler.run_once()
    scheduler.run_once()
    a_scheduler("scheduler:b").run_once()
    assert status_kinds(order) == ["failed"]
    assert stored(order).announced is True
    assert stored(order).process_state == "error"


@pytest.mark.pattern("Q3")
def test_a_supervisors_error_is_announced_even_under_constant_load() -> None:
    order = make_order(process_state="error", announced=False, reply_to="app-1")
    scheduler = a_scheduler(batch=5)
    for _ in range(20):
        other = make_order({"mix": "running"}, process_state="processing")
        make_reply(step_of(other, "mix"))
        scheduler.run_once()
    assert status_kinds(order) == ["failed"]
