"""A business is told what has become of its orders: after it has happened, and at least once."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from django.dispatch import Signal

from orders import jobs, wiring
from orders.business import registry, signals
from orders.engine.runtime.sql import run
from orders.models import Bucket, OrderProcess, StatusMessage, StepState
from orders.retention import archive_orders
from orders.services import announcements
from orders.services.act_results import ResultStatus
from orders.services.announcements import announce_due
from orders.services.audit import Actor
from orders.services.operators.order_acts import compensate
from orders.services.order_changes import resubmit_order
from tests.support.businesses import Bakery, Oven, business
from tests.support.factories import ago, make_reply, step_of
from tests.support.log_lines import line, written_lines
from tests.support.roles import drain, in_thread, staff
from tests.support.wait import until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("Q3")]
News = list[tuple[str, UUID, str]]
Follow = Callable[[Signal, Callable[..., None]], None]


@pytest.fixture(autouse=True)
def bakery(settings: Any) -> Iterator[None]:
    """The bakery, beside the shop."""
    with business(settings, kinds=[Bakery], agents=[Oven()]):
        yield


@pytest.fixture
def follow() -> Iterator[Follow]:
    """Connects a receiver to a signal of the bakery, until the test ends."""
    connected: list[tuple[Signal, Callable[..., None]]] = []

    def connect(signal: Signal, receiver: Callable[..., None]) -> None:
        signal.connect(receiver, sender=Bakery, weak=False)
        connected.append((signal, receiver))

    yield connect
    for signal, receiver in connected:
        signal.disconnect(receiver, sender=Bakery)


@pytest.fixture
def news(follow: Follow) -> News:
    """What the bakery has been news: the signal, the order and its subject."""
    calls: News = []
    for word, signal in signals.SIGNALS.items():
        follow(
            signal,
            lambda word=word, **about: calls.append((word.value, about["order_id"], about["subject"])),
        )
    return calls


def start(subject: str = "table 7") -> UUID:
    """Starts an order, whose first step is then under way."""
    staff(registry.workflows())
    order_id = Bakery.start(subject, {"cake": "walnut"})
    drain(wiring.submission())
    drain(wiring.scheduler())
    return order_id


def bake(outcome: str = "done") -> UUID:
    """An order that has got that far."""
    order_id = start()
    make_reply(step_of(order_id, "mix"), outcome)
    drain(wiring.scheduler())
    return order_id


def test_it_is_told_of_an_order_from_its_insertion_to_its_end(news: News) -> None:
    order_id = bake()
    assert announce_due() == 2, "there is no signal for its start"
    assert news == [("received", order_id, "table 7"), ("completed", order_id, "table 7")]
    assert announce_due() == 0
    assert not StatusMessage.objects.exists()


def test_it_is_told_of_an_error_and_of_a_compensation(news: News) -> None:
    order_id = bake("refused")
    announce_due()
    assert news[-1] == ("failed", order_id, "table 7")
    assert compensate(order_id=order_id, actor=Actor(name="olga"), reason="burnt").status is ResultStatus.DONE
    drain(wiring.scheduler())
    announce_due()
    assert news[-1] == ("compensated", order_id, "table 7")


def test_it_is_told_of_an_error_that_the_supervisor_found(news: News) -> None:
    order_id = start()
    announce_due()
    OrderProcess.objects.filter(pk=order_id).update(
        process_state="error", announced=False, locked_by=None, complete_by=None
    )
    drain(wiring.scheduler())
    announce_due()
    assert news[-1] == ("failed", order_id, "table 7")


def test_a_receiver_gets_the_data_and_what_is_wrong(follow: Follow) -> None:
    calls: list[dict[str, Any]] = []
    follow(signals.order_in_error, lambda **about: calls.append(about))
    bake("refused")
    announce_due()
    (call,) = calls
    assert call["sender"] is Bakery
    assert call["data"] == {"cake": "walnut", "icing": "none", "for": "anybody"}
    assert call["detail"] == {"reason": "step_failed", "step": "mix", "code": "no", "message": "it said no"}


def test_it_is_told_of_a_step_that_was_declined(follow: Follow) -> None:
    calls: list[dict[str, Any]] = []
    follow(signals.order_declined, lambda **about: calls.append(about))
    order_id = bake("declined")
    announce_due()
    (call,) = calls
    assert call["order_id"] == order_id
    assert call["detail"].keys() == {"step", "code", "message", "waiting_until"}


def test_nothing_is_kept_for_a_business_without_receivers() -> None:
    bake()
    assert not StatusMessage.objects.exists()


def test_the_applications_own_queue_is_told_as_well(news: News) -> None:
    Bakery.start("table 7", {"cake": "walnut"}, reply_to="app/queue")
    drain(wiring.submission())
    queues = StatusMessage.objects.filter(kind="received").values_list("queue", flat=True)
    assert sorted(queues) == ["app/queue", "workflow:bake"]
    announce_due()
    assert [*StatusMessage.objects.values_list("queue", flat=True)] == ["app/queue"]


def test_what_a_receiver_writes_and_the_message_go_together(follow: Follow) -> None:
    """It fails after it has written, once: then nothing of the first time is left, and it is told again."""
    calls: list[UUID] = []

    def write(*, order_id: UUID, **_: Any) -> None:
        Bucket.objects.create(key=f"told {order_id}", full_at=ago(0))
        calls.append(order_id)
        if len(calls) == 1:
            raise ValueError("the printer is out of paper")

    follow(signals.order_processed, write)
    order_id = bake()
    announce_due()
    assert (calls, Bucket.objects.count()) == ([order_id], 0)
    message = StatusMessage.objects.get()
    assert message.failures == 1
    assert message.not_before is not None
    StatusMessage.objects.update(not_before=ago(1))
    assert announce_due() == 1
    assert (calls, Bucket.objects.count()) == ([order_id] * 2, 1)
    assert not StatusMessage.objects.exists()


def test_a_receiver_that_fails_holds_up_no_other_order(
    news: News, follow: Follow, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*, subject: str, **_: Any) -> None:
        if subject == "table 7":
            raise ValueError("no such table")

    follow(signals.order_received, refuse)
    refused = start("table 7")
    other = start("table 8")
    announce_due()
    assert line(caplog, "a receiver of a business failed")["order_id"] == str(refused)
    assert ("received", other, "table 8") in news
    assert [*StatusMessage.objects.values_list("kind", flat=True)] == ["received"]


def test_two_processes_tell_of_each_message_once(news: News, follow: Follow) -> None:
    first, second = threading.Event(), threading.Event()

    def wait(**_: Any) -> None:
        first.set()
        assert second.wait(30)

    follow(signals.order_received, wait)
    start()
    slow = in_thread(announce_due)
    assert first.wait(30)
    announce_due()
    second.set()
    slow.result(timeout=30)
    assert [word for word, _, _ in news] == ["received"]


def test_an_order_that_is_rolled_back_is_never_told_of(news: News) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        Bakery.start("table 7", {"cake": "walnut"})
        raise ZeroDivisionError
    drain(wiring.submission())
    assert (announce_due(), news) == (0, [])


def test_the_job_tells_within_a_moment(news: News) -> None:
    shift = in_thread(lambda: jobs.announcement_shift(5.0))
    order_id = bake()
    until(lambda: ("completed", order_id, "table 7") in news, what="the announcement")
    shift.result(timeout=30)


def test_a_receiver_that_takes_too_long_is_put_off_and_holds_up_no_other(news: News, follow: Follow) -> None:
    """When a transaction lasts too long, the server ends its connection."""
    slow = start("table 7")
    other = start("table 8")

    def last_too_long(*, order_id: UUID, **_: Any) -> None:
        if order_id == slow:
            run("SELECT pg_terminate_backend(pg_backend_pid())")

    follow(signals.order_received, last_too_long)
    assert announce_due() == 1
    assert [order_id for _, order_id, _ in news if order_id == other] == [other]
    message = StatusMessage.objects.get()
    assert (message.order_id, message.failures) == (slow, 1)


def test_what_happened_later_is_not_told_before_what_happened_first(news: News, follow: Follow) -> None:
    """Not even by another process, while the first is still telling."""
    first, second = threading.Event(), threading.Event()

    def wait(**_: Any) -> None:
        first.set()
        assert second.wait(30)

    follow(signals.order_received, wait)
    bake()
    teller = in_thread(announce_due)
    assert first.wait(30)
    assert announce_due() == 0
    second.set()
    teller.result(timeout=30)
    assert [word for word, _, _ in news] == ["received", "completed"]


def test_an_order_is_not_archived_before_its_business_has_been_told(news: News) -> None:
    order_id = bake()
    OrderProcess.objects.update(finished_at=ago(100 * 86_400))
    archive_orders()
    assert OrderProcess.objects.filter(pk=order_id).exists()
    while announce_due():
        """Until everything is told."""
    archive_orders()
    assert not OrderProcess.objects.filter(pk=order_id).exists()
    assert [word for word, _, _ in news] == ["received", "completed"]


def test_an_error_that_an_operator_resolves_first_is_told_as_well(news: News) -> None:
    order_id = start()
    OrderProcess.objects.filter(pk=order_id).update(
        process_state="error", announced=False, locked_by=None, complete_by=None
    )
    StepState.objects.filter(process_id=order_id).update(state="failed", complete_by=None, answered=1)
    resubmit_order(order_id=order_id, by="olga")
    while announce_due():
        """Until everything is told."""
    assert [word for word, _, _ in news] == ["received", "failed"]


def test_a_burst_is_told_without_pauses(news: News, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcements, "LIMIT", 2)
    ids = [start(f"table {number}") for number in range(5)]
    monkeypatch.setattr(jobs, "time", SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: None))
    jobs.announcement_shift(0.01)
    assert [order_id for _, order_id, _ in news] == ids


def test_what_a_receiver_logs_has_the_orders_id(follow: Follow) -> None:
    follow(signals.order_processed, lambda **_: logging.getLogger("bakery").warning("sold out"))
    order_id = bake()
    with written_lines() as lines:
        announce_due()
    assert [f"order_id={order_id}" in text for text in lines if "sold out" in text] == [True]
