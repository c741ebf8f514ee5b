"""Who owns a cause, and until when it is out of sight: one effect for two people, and it comes back by itself."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from orders.engine.alerts import close_alerts
from orders.engine.runtime.sql import database_now
from orders.models import Alert, AlertGroup, AuditEntry, GroupNote, OutgoingMessage
from orders.selectors.desk.inbox import InboxView, read_inbox
from orders.services.act_results import ResultStatus
from orders.services.audit import Actor
from orders.services.operators import causes, snoozes
from orders.services.operators.notifications import notify_operators
from tests.support.desk import fail, failed_orders, group_of
from tests.support.factories import ago, ahead
from tests.support.people import person
from tests.support.two_sessions import all_at_once

ANNA, BERT = Actor(name="anna"), Actor(name="bert")


@pytest.fixture
def anna(db: None) -> User:
    person("operator", "bert")
    return person("operator", "anna")


@pytest.fixture
def alert_email(settings: Any) -> Iterator[None]:
    settings.CONFIG = replace(settings.CONFIG, alert_email="ops@example.org")
    yield


def counts(account: User | None = None) -> dict[str, int]:
    inbox = read_inbox(InboxView.ALL, account=account.pk if account else None, now=database_now())
    return {view.value: count for view, count in inbox.counts.items()}


@pytest.mark.pattern("O1")
@pytest.mark.django_db(transaction=True)
def test_of_two_people_who_take_a_cause_at_once_one_has_it_and_the_other_is_told_who(anna: User) -> None:
    failed_orders(1)
    group = group_of()
    actors = (ANNA, BERT)
    results = all_at_once(2, lambda n: causes.take(group_id=group.pk, actor=actors[n]))
    owner = group_of().owner_name
    lost = results[1 if owner == "anna" else 0]
    assert sorted(result.status.value for result in results) == ["done", "refused"]
    assert lost.message.startswith(f"Given to {owner} ")
    assert list(AuditEntry.objects.filter(act="take").order_by("id").values_list("allowed", flat=True)) == [
        True,
        False,
    ]
    assert causes.take(group_id=group.pk, actor=actors[owner == "bert"]).status is ResultStatus.ALREADY
    assert group_of().acknowledged_by == owner


def test_a_cause_is_handed_over_only_from_the_owner_that_was_seen(anna: User) -> None:
    failed_orders(1)
    number = group_of().pk
    assert causes.assign(group_id=number, actor=ANNA, owner="bert").status is ResultStatus.DONE
    late = causes.assign(group_id=number, actor=ANNA, owner="anna", expected="")
    assert (late.status, group_of().owner_name) == (ResultStatus.REFUSED, "bert")
    assert "Given to bert" in late.message
    assert counts(anna) == {"all": 1, "mine": 0, "nobodys": 0, "snoozed": 0}
    assert causes.assign(group_id=number, actor=BERT, owner="", expected="bert").status is ResultStatus.DONE
    assert counts(anna)["nobodys"] == 1
    person("viewer", "vera")
    assert causes.assign(group_id=number, actor=BERT, owner="vera").status is ResultStatus.REFUSED
    assert causes.take(group_id=number, actor=Actor(name="vera")).status is ResultStatus.REFUSED


def test_an_owner_keeps_a_cause_through_a_resubmission_and_loses_it_when_it_has_ended(anna: User) -> None:
    (order_id,) = failed_orders(1)
    causes.take(group_id=group_of().pk, actor=ANNA)
    AlertGroup.objects.update(owned_at=ago(7_200))
    close_alerts([order_id], by="anna", resolution="resubmitted")
    assert causes.release_ended() == 0
    Alert.objects.update(closed_at=ago(3_600))
    fail(order_id)
    assert causes.release_ended() == 0
    close_alerts([order_id], by="anna", resolution="resubmitted")
    Alert.objects.update(closed_at=ago(3_600))
    assert (causes.release_ended(), group_of().owner_name) == (1, "")


@pytest.mark.pattern("O1")
def test_a_snoozed_cause_leaves_the_list_and_is_counted_apart(anna: User) -> None:
    failed_orders(2)
    number = group_of().pk
    result = snoozes.snooze(group_id=number, actor=ANNA, until=ahead(3_600))
    assert result.status is ResultStatus.DONE
    assert counts() == {"all": 0, "mine": 0, "nobodys": 0, "snoozed": 1}
    second = snoozes.snooze(group_id=number, actor=BERT, until=ahead(7_200))
    assert second.status is ResultStatus.ALREADY and second.message.startswith(
        "Already snoozed by anna, until "
    )
    assert snoozes.wake(group_id=number, actor=BERT).status is ResultStatus.DONE
    assert snoozes.wake(group_id=number, actor=BERT).status is ResultStatus.ALREADY
    assert counts()["all"] == 1
    acts = AuditEntry.objects.order_by("id").values_list("actor", "act")
    assert list(acts) == [("anna", "snooze"), ("bert", "wake")]


@pytest.mark.pattern("O1")
def test_nothing_is_sent_about_a_snoozed_cause_until_it_has_grown_and_then_it_says_why(
    anna: User, alert_email: None
) -> None:
    failed_orders(2)
    notify_operators()
    OutgoingMessage.objects.update(created_at=ago(3_600))
    snoozes.snooze(group_id=group_of().pk, actor=ANNA, until=ahead(3_600), grows_by=2)
    failed_orders(1)
    assert notify_operators() == 0
    failed_orders(1)
    assert counts()["all"] == 1, "the inbox need not wait for the pass"
    assert notify_operators() == 1
    message = OutgoingMessage.objects.latest("id")
    assert message.alerts == 2
    assert message.arguments["back"].endswith("and it has grown to 4 open orders.")
    assert group_of().woken_why == message.arguments["back"]
    assert notify_operators() == 0


@pytest.mark.pattern("O1")
def test_a_cause_whose_snooze_is_over_comes_back_with_one_message(anna: User, alert_email: None) -> None:
    failed_orders(1)
    notify_operators()
    snoozes.snooze(group_id=group_of().pk, actor=ANNA, until=ahead(3_600))
    AlertGroup.objects.update(snoozed_until=ago(1))
    assert counts() == {"all": 1, "mine": 0, "nobodys": 1, "snoozed": 0}
    assert (notify_operators(), notify_operators()) == (1, 0)
    group = group_of()
    assert group.snoozed_until is None and group.woken_at is not None
    assert group.woken_why.startswith("anna snoozed it at ") and group.woken_why.endswith(
        "and the time is up."
    )


def test_a_cause_that_has_ended_comes_back_without_a_message(anna: User, alert_email: None) -> None:
    ids = failed_orders(1)
    snoozes.snooze(group_id=group_of().pk, actor=ANNA, until=ahead(3_600))
    close_alerts(ids, by="anna", resolution="resubmitted")
    AlertGroup.objects.update(snoozed_until=ago(1))
    assert notify_operators() == 0
    assert group_of().snoozed_until is None


@pytest.mark.parametrize(
    ("hours", "growth"),
    [(None, {}), (-1, {}), (24 * 8, {})],
)
def test_a_snooze_without_an_end_or_with_one_too_far_is_refused(
    anna: User, hours: float | None, growth: dict[str, Any]
) -> None:
    failed_orders(1)
    until = None if hours is None else database_now() + timedelta(hours=hours)
    result = snoozes.snooze(group_id=group_of().pk, actor=ANNA, until=until, **growth)
    assert result.status is ResultStatus.REFUSED
    assert group_of().snoozed_until is None


def test_a_cause_that_doubles_comes_back_after_a_week_at_the_latest(anna: User) -> None:
    failed_orders(3)
    snoozes.snooze(group_id=group_of().pk, actor=ANNA, doubles=True)
    group = group_of()
    assert group.snooze_most == 6 and group.snoozed_until is not None
    assert timedelta(days=6.9) < group.snoozed_until - database_now() <= snoozes.LONGEST


@pytest.mark.parametrize(
    ("url", "is_taken"),
    [
        ("https://tickets.example.com/4711?a=b#c", True),
        ("http://tickets.example.com/4711", False),
        ("javascript:alert(1)", False),
        ("https://anna:secret@tickets.example.com/", False),
        ("https:///4711", False),
        ("https://tickets.example.com:0/", False),
        ("https://tickets.example.com/a b", False),
        ("https://[tickets", False),
        ("https://t.example/" + "x" * 500, False),
    ],
)
def test_a_ticket_is_an_https_url_without_a_password(anna: User, url: str, is_taken: bool) -> None:
    failed_orders(1)
    result = causes.link_ticket(group_id=group_of().pk, actor=ANNA, url=url)
    assert (result.status is ResultStatus.DONE) == is_taken
    assert group_of().ticket_url == (url if is_taken else "")


def test_a_ticket_that_somebody_else_has_linked_meanwhile_stays(anna: User) -> None:
    failed_orders(1)
    first, second = "https://t.example/1", "https://t.example/2"
    causes.link_ticket(group_id=group_of().pk, actor=ANNA, url=first, expected="")
    late = causes.link_ticket(group_id=group_of().pk, actor=BERT, url=second, expected="")
    assert (late.status, group_of().ticket_url) == (ResultStatus.REFUSED, first)
    assert first in late.message
    assert not GroupNote.objects.exists()
