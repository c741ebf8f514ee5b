"""Who else is at an order or a cause: named on its page, and asked about before an act beside somebody else's."""

import re

import pytest
from django.test import Client

from orders.engine.runtime.sql import database_now
from orders.models import AlertGroup, BulkAction, Presence
from orders.retention.records import RULES, delete_old
from tests.services.operated_orders import BEFORE_SHIPMENT, UNKNOWN, an_order, in_error
from tests.support.factories import ago, make_alert, make_order
from tests.support.people import person, signed_in
from tests.support.roles import stored

FAILED = {**BEFORE_SHIPMENT, "create-shipment": UNKNOWN}

pytestmark = pytest.mark.django_db


@pytest.fixture
def mara() -> Client:
    return signed_in(person("operator", "mara"))


@pytest.fixture
def otto() -> Client:
    return signed_in(person("operator", "otto"))


SINCE = re.compile(r"for [1-9] s\.")


def words_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def read(client: Client, at: str) -> str:
    """The words of a page. A second or more may pass on a busy machine before it is asked for."""
    return SINCE.sub("for a moment.", words_of(client.get(at).content.decode()))


def test_a_page_names_who_else_looks_at_it_until_she_has_gone(mara: Client, otto: Client) -> None:
    at = f"/console/orders/{in_error(FAILED).pk}/"
    assert "Also here" not in read(mara, at)
    assert "Also here: mara." in read(otto, at)
    assert "Also here: mara" not in read(otto, f"/console/orders/{in_error(FAILED).pk}/")
    Presence.objects.filter(operator="mara").update(seen_at=ago(31))
    assert "Also here" not in read(otto, at)


def test_a_beat_keeps_somebody_there_and_says_since_when_she_acts(mara: Client, otto: Client) -> None:
    order = an_order(BEFORE_SHIPMENT, process_state="pending")
    at = f"/console/orders/{order.pk}/"
    page = mara.get(f"{at}compensate/").content.decode()
    beat = re.search(r'data-beat="(.*?)"', page)
    assert beat is not None and beat[1] == f"{at}presence/?act=order-compensate"
    Presence.objects.update(since=ago(45), seen_at=ago(25))
    mara.get(beat[1])
    assert "Also here: mara, cancelling this order for 4" in read(otto, f"{at}presence/")
    Presence.objects.filter(operator="mara").update(seen_at=ago(31))
    mara.get(beat[1])  # she came back
    assert "Also here: mara, cancelling this order for a moment." in read(otto, at)
    mara.get(f"{at}presence/?act=<script>")
    assert set(Presence.objects.values_list("act", flat=True)) == {"", "order-compensate"}


def test_an_act_beside_anothers_is_asked_about_once_more_and_then_done(mara: Client, otto: Client) -> None:
    order = an_order(BEFORE_SHIPMENT, process_state="pending")
    at = f"/console/orders/{order.pk}/"
    otto.get(f"{at}edit/")
    form = {"typed": "cancel", "reason": "she called"}
    answer = mara.post(f"{at}compensate/", form)
    page = answer.content.decode()
    assert answer.status_code == 422 and "Also here: otto, editing this order for a moment." in SINCE.sub(
        "for a moment.", words_of(page)
    )
    assert stored(order).goal == "complete"
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="(.*?)"', page))
    hidden.pop("csrfmiddlewaretoken", None)
    assert hidden == form | {"act_anyway": "1"}
    assert mara.post(f"{at}compensate/", hidden).status_code == 302
    assert stored(order).goal == "compensate"
    assert "mara, cancelling" not in read(otto, at)  # she has done it


def test_nobody_is_asked_because_somebody_looks_or_because_of_her_own_page(
    mara: Client, otto: Client
) -> None:
    at = f"/console/orders/{(order := in_error(FAILED)).pk}/"
    otto.get(at)
    mara.get(f"{at}compensate/")
    assert mara.post(f"{at}resubmit/").status_code == 302
    assert BulkAction.objects.get().items.get().order_id == order.pk


def test_an_act_on_all_orders_of_a_cause_is_seen_at_the_cause(mara: Client, otto: Client) -> None:
    failed = make_order({"mix": "failed"}, process_state="error").order_id
    make_alert(failed)
    group = AlertGroup.objects.get().pk
    mara.get(f"/console/bulk/new/?group={group}")
    assert "Also here: mara, acting on all orders of this cause for a moment." in read(
        otto, f"/console/alerts/{group}/"
    )
    form = {"do": "resubmit", "group": str(group), "waves": "0", "rate": "20", "stop_percent": "20"}
    assert "Act anyway" in otto.post("/console/bulk/create/", form).content.decode()
    assert not BulkAction.objects.exists()
    otto.post("/console/bulk/create/", form | {"act_anyway": "1"})
    assert BulkAction.objects.count() == 1


def test_who_has_gone_is_swept(mara: Client) -> None:
    mara.get(f"/console/orders/{in_error(FAILED).pk}/")
    mara.get(f"/console/orders/{in_error(FAILED).pk}/")
    Presence.objects.filter(pk=Presence.objects.order_by("id")[0].pk).update(seen_at=ago(3_700))
    rule = RULES["presence"]
    delete_old(rule, before=database_now() - rule.age)
    assert Presence.objects.count() == 1
