"""While a newer release runs beside this one, this one reads its words as they are, and nothing breaks."""

import pytest
from django.core.management import call_command
from django.test import Client

from orders.engine.runtime.sql import run
from orders.models import AlertGroup, OutgoingMessage, StatusMessage
from orders.outbox.queue import deliver_due
from orders.outbox.queue import post as post_message
from orders.vocabulary import AlertKind, MessageKind
from orders.wording.skipped_messages import why_skipped
from tests.support.factories import ago, make_alert, make_order, make_purchase
from tests.support.people import api_client, person, signed_in, token_of
from tests.support.roles import a_leader
from tests.web.places import UNKNOWN, every_place

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]

NEWER = "newer_word"


def newer_rows() -> tuple[str, int]:
    """An order and a cause that a newer release has written; returns their ids."""
    order = make_order({"mix": {"state": "failed"}}, process_state="error")
    make_purchase(order.pk, total=100)
    alert = make_alert(order.pk, kind=NEWER)
    run(
        """
        INSERT INTO orders_event (order_id, kind, actor_kind, actor_name, step, attempt, detail, customer_id, at)
        VALUES (%s, %s, 'operator', 'olga', '', 0, '{}', NULL, now())
        """,
        [order.pk, NEWER],
    )
    StatusMessage.objects.create(queue="q", order_id=order.pk, kind=NEWER, body={})
    post_message(kind=MessageKind.SIGN_UP, recipient="a@example.org", arguments={})
    OutgoingMessage.objects.update(kind="newer", due_at=ago(60))
    return str(order.pk), alert.group_id


def places(order: str, group: int) -> dict[str, str]:
    every = {name: path.replace(UNKNOWN, order) for name, path in every_place().items()}
    return every | {
        "group": f"/console/alerts/groups/{group}/",
        "api group": f"/api/v1/alerts/groups/{group}",
        "inbox": "/console/alerts/",
    }


@pytest.fixture
def order_and_group(db: None, catalogue: None) -> tuple[str, int]:
    return newer_rows()


def test_no_page_and_no_list_breaks(order_and_group: tuple[str, int]) -> None:
    admin = person("admin")
    client, program = signed_in(admin), api_client(token_of(admin))
    for name, path in places(*order_and_group).items():
        asking: Client = program if path.startswith("/api/") else client
        answer = asking.get(path)
        assert answer.status_code < 500, name
        if answer.streaming:
            b"".join(answer.streaming_content)
    assert NEWER in client.get("/console/alerts/").content.decode()
    alerts = program.get("/api/v1/alerts").json()["results"]
    assert [alert["kind"] for alert in alerts] == [NEWER]


def test_sweeps_and_deliveries_go_on_and_leave_a_message_to_the_newer_release(
    order_and_group: tuple[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    a_leader().run_once()
    deliver_due()
    assert OutgoingMessage.objects.get(kind="newer").attempts == 0
    call_command("alerts")
    assert NEWER in capsys.readouterr().out
    assert AlertGroup.objects.get().kind == NEWER


def test_nothing_that_acts_on_orders_is_offered_for_a_kind_that_is_not_known() -> None:
    assert not AlertKind.are_about_orders(NEWER)
    assert [kind for kind in AlertKind if AlertKind.are_about_orders(kind)] == [
        k for k in AlertKind if k.has_orders
    ]
    assert why_skipped(kind="newer", channel="email") == "There was no reason to send it."
