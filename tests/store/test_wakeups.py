"""Wake-ups: heard once, after the commit, and by a listener that outlives its connections."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from secrets import token_hex

import psycopg
import pytest
from django.db import connection, transaction
from pytest_django import Settings

from orders import jobs, wiring
from orders.engine.channels.wakeups import Topic, wake
from orders.engine.runtime import listener as listener_module
from orders.engine.runtime.listener import Listener
from orders.engine.runtime.sql import fetch
from orders.models import StatusMessage
from orders.services import customers
from orders.services.act_results import ResultStatus
from tests.engine.test_shift import an_overdue_order
from tests.support.factories import make_order
from tests.support.roles import a_scheduler
from tests.support.two_sessions import PATIENCE, Session
from tests.support.wait import until

NewSession = Callable[[], Session]

SILENCE = 0.1


class Ear:
    """A plain listening session."""

    def __init__(self) -> None:
        self._connection = psycopg.connect(
            **{
                name: value
                for name, value in connection.get_connection_params().items()
                if name not in {"context", "cursor_factory", "prepare_threshold"}
            },
            autocommit=True,
        )
        for topic in Topic:
            self._connection.execute(f"LISTEN {topic.channel}")

    def hear(self, number: int) -> list[str]:
        """The next payloads in their order, or fewer if no more come."""
        payloads: list[str] = []
        while len(payloads) < number:
            more = [
                Topic(notification.channel.removeprefix("sasweb_"))
                for notification in self._connection.notifies(timeout=PATIENCE, stop_after=1)
            ]
            if not more:
                break
            payloads += more
        return payloads

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def ear(transactional_db: None) -> Iterator[Ear]:
    opened = Ear()
    yield opened
    opened.close()


def test_one_call_sends_one_notification(ear: Ear) -> None:
    for topic in (Topic.SCHEDULER, Topic.AGENTS, Topic.SUBMISSION, Topic.AGENTS):
        wake(topic)
    assert ear.hear(4) == ["scheduler", "agents", "submission", "agents"]


def test_nobody_is_woken_before_the_commit(ear: Ear, new_session: NewSession) -> None:
    scheduler = new_session()
    scheduler.begin()
    scheduler.do(lambda: wake(Topic.AGENTS))
    wake(Topic.SUBMISSION)
    assert ear.hear(1) == ["submission"]
    scheduler.commit()
    assert ear.hear(1) == ["agents"]


def test_a_pass_that_was_rolled_back_wakes_nobody(ear: Ear, new_session: NewSession) -> None:
    scheduler = new_session()
    scheduler.begin()
    scheduler.do(lambda: wake(Topic.AGENTS))
    scheduler.rollback()
    wake(Topic.SUBMISSION)
    assert ear.hear(1) == ["submission"]


def test_a_pass_that_wakes_twice_is_heard_once(ear: Ear) -> None:
    with transaction.atomic():
        wake(Topic.AGENTS)
        wake(Topic.AGENTS)
    wake(Topic.SUBMISSION)
    assert ear.hear(2) == ["agents", "submission"]


def test_an_act_that_changes_nothing_wakes_the_scheduler_that_has_passed_by_its_order(ear: Ear) -> None:
    order = make_order()
    result = customers.resolve(order_id=order.pk, changes={}, by="ada")
    assert result.status is ResultStatus.ALREADY
    wake(Topic.SUBMISSION)
    assert ear.hear(2) == ["scheduler", "submission"]


def test_several_topics_take_one_statement_and_no_topic_takes_none(
    ear: Ear, django_assert_num_queries: Callable[[int], AbstractContextManager[object]]
) -> None:
    with django_assert_num_queries(1):
        wake(Topic.SCHEDULER, Topic.PROGRESS)
        wake()
    assert ear.hear(2) == ["scheduler", "progress"]


def test_a_sweep_wakes_those_who_watch_the_orders_that_it_found(ear: Ear, settings: Settings) -> None:
    """The supervisor itself touches no channel: its job wakes."""
    settings.CONFIG = replace(settings.CONFIG, supervisor_period=0.01)
    jobs.supervisor_shift(0.1)
    wake(Topic.AGENTS)
    an_overdue_order()
    jobs.supervisor_shift(0.1)
    wake(Topic.SUBMISSION)
    assert ear.hear(3) == ["agents", "progress", "submission"]


def test_a_failure_that_is_announced_late_wakes_those_who_wait_for_messages(ear: Ear) -> None:
    make_order(process_state="error", announced=False, reply_to="app-1")
    a_scheduler().run_once()
    assert StatusMessage.objects.get().kind == "failed"
    wake(Topic.SUBMISSION)
    assert ear.hear(2) == ["progress", "submission"]


# --- the listener


class Woken:
    """Counts the calls of two topics."""

    def __init__(self) -> None:
        self.calls: list[Topic] = []

    def count(self, topic: Topic) -> int:
        return self.calls.count(topic)

    def functions(self) -> dict[Topic, Callable[[], None]]:
        return {
            Topic.SCHEDULER: lambda: self.calls.append(Topic.SCHEDULER),
            Topic.AGENTS: lambda: self.calls.append(Topic.AGENTS),
        }


@pytest.fixture
def woken(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Woken]:
    """A listener that is listening, and has made its first calls."""
    monkeypatch.setattr(listener_module, "SILENCE", SILENCE)
    monkeypatch.setenv("PGAPPNAME", f"listener {token_hex(4)}")
    woken = Woken()
    listener = wiring.listener(woken.functions())
    listener.start()
    await_calls(woken, [Topic.SCHEDULER, Topic.AGENTS])
    woken.calls.clear()
    yield woken
    listener.stop()
    listener.join(timeout=PATIENCE)
    assert not listener.is_alive()


def await_calls(woken: Woken, calls: list[Topic]) -> None:
    until(lambda: len(woken.calls) >= len(calls), seconds=PATIENCE, what=f"the calls {calls}")
    assert woken.calls == calls


def listening_pids() -> list[int]:
    """The backends of the listener of this test."""
    rows = fetch(
        "SELECT pid FROM pg_stat_activity WHERE application_name = %s AND state = 'idle'",
        [os.environ["PGAPPNAME"]],
    )
    return [pid for (pid,) in rows]


def test_a_notification_calls_the_function_of_its_topic_and_no_other(woken: Woken) -> None:
    wake(Topic.SUBMISSION)
    wake(Topic.AGENTS)
    await_calls(woken, [Topic.AGENTS])
    wake(Topic.SCHEDULER)
    await_calls(woken, [Topic.AGENTS, Topic.SCHEDULER])


def test_no_notification_is_lost_while_the_connection_is_being_tested(
    woken: Woken, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener_module, "SILENCE", 0.0005)
    expected = []
    for number in range(100):
        expected.append((Topic.AGENTS, Topic.SCHEDULER)[number % 2])
        wake(expected[-1])
        await_calls(woken, expected)


def test_many_notifications_at_once_are_all_heard_in_their_order(woken: Woken) -> None:
    expected = []
    for number in range(200):
        expected.append((Topic.AGENTS, Topic.SCHEDULER)[number % 3 == 0])
        wake(expected[-1])
    await_calls(woken, expected)


@pytest.mark.pattern("C9")
def test_a_listener_whose_session_was_ended_listens_again_and_calls_every_function(woken: Woken) -> None:
    """F23. Notifications sent in between are lost, so each function is called after the reconnection."""
    (pid,) = until(listening_pids, what="the listening session")
    for lost in (1, 2):
        assert fetch("SELECT pg_terminate_backend(%s)", [pid]) == [(True,)]
        await_calls(woken, [Topic.SCHEDULER, Topic.AGENTS])
        (pid,) = until(
            lambda old=pid: [now for now in listening_pids() if now != old], what=f"session {lost + 1}"
        )
        woken.calls.clear()
        wake(Topic.AGENTS)
        await_calls(woken, [Topic.AGENTS])
        woken.calls.clear()


def test_a_silent_connection_is_tested(woken: Woken) -> None:
    """Trap 5: a half-open socket looks like a quiet one."""
    question = (
        "SELECT query_start FROM pg_stat_activity WHERE datname = current_database() AND query = 'SELECT 1'"
    )
    first = until(lambda: fetch(question), what="the first question")
    until(lambda: fetch(question) > first, what="the next question")
    assert woken.calls == []


def test_a_listener_that_cannot_connect_tries_until_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[float] = []
    monkeypatch.setattr(listener_module, "full_jitter", lambda failures, **_: tries.append(failures) or 0.001)
    listener = Listener(parameters={"host": "/nowhere", "dbname": "none"}, on_wake={})
    listener.start()
    until(lambda: len(tries) >= 3, what="three tries")
    listener.stop()
    listener.join(timeout=PATIENCE)
    assert not listener.is_alive()
    assert tries[:3] == [1, 2, 3]
