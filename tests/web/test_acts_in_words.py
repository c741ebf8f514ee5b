"""What the console says of its acts: what each button does, which is advised, what became of resubmitted orders."""

import re

import pytest
from django.test import Client

from orders.engine.alerts import close_alerts, open_outage
from orders.models import Alert, AlertGroup, BulkAction, Circuit, Event, Order, OrderProcess, StepState
from orders.services.operators import bulk as bulk_services
from orders.services.operators.order_acts import resubmit
from tests.support.desk import OLGA, failed_orders
from tests.support.factories import ago, ahead
from tests.support.order_bodies import EMAIL
from tests.support.people import api_client, person, signed_in, token_of
from tests.web.conftest import Desk
from tests.web.console_orders import in_error, open_alert
from tests.web.test_console_alerts import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O2")]

MAIN = re.compile(r'<(?:a|button) class="button[^"]*button--main[^"]*"[^>]*>(.*?)</(?:a|button)>', re.DOTALL)


@pytest.fixture
def olga(db: None) -> Client:
    return signed_in(person("operator", "olga"))


def main_buttons(page: str) -> list[str]:
    """The words on the black buttons beside the heading of a page."""
    acts = page[page.index('class="desk__actions"') :]
    acts = acts[: acts.index('id="presence"') if 'id="presence"' in acts else None]
    return [" ".join(re.sub(r"<[^>]+>", " ", label).split()) for label in MAIN.findall(acts)]


def refused_orders(count: int) -> AlertGroup:
    """Orders that the carrier refuses for good, with one cause."""
    for _ in range(count):
        order = in_error()
        close_alerts([order.pk], by="tests", resolution="replaced")
        open_alert(order.pk, code="refused")
    return AlertGroup.objects.get(code="refused")


def test_an_order_in_error_has_one_way_to_resubmit_it_and_one_to_edit_it_first_with_what_each_does(
    desk: Desk,
) -> None:
    order = in_error()
    client, at = desk("operator"), f"/console/orders/{order.pk}/"
    page = client.get(at).content.decode()
    acts = page[page.index('id="acts"') :][: page.index('id="facts"') - page.index('id="acts"')]
    assert (acts.count(">Resubmit</button>"), acts.count(">Edit and resubmit…</a>")) == (1, 1)
    text = text_of(client.get(at))
    assert (
        "Resubmit: Tries create-shipment again with the same data, after 10 seconds in which you can undo it."
        " Edit and resubmit: Change the address or another field first. Saving tries it again at once."
        in text
    )
    assert main_buttons(page)[:1] == ["Resubmit"]
    form = text_of(client.get(f"{at}edit/?step=create-shipment"))
    assert "Edit and resubmit" in form and "Edit order" not in form


def test_one_that_cannot_be_reversed_says_that_the_reversal_is_tried_again(desk: Desk) -> None:
    order = in_error()
    OrderProcess.objects.filter(pk=order.pk).update(goal="compensate")
    text = text_of(desk("operator").get(f"/console/orders/{order.pk}/"))
    assert "Tries again to reverse create-shipment with the same data" in text
    assert "Edit and resubmit:" not in text


def test_the_message_says_at_what_time_it_begins_and_counts_down_to_it(desk: Desk) -> None:
    order = in_error()
    page = desk("operator").post(f"/console/orders/{order.pk}/resubmit/", follow=True).content.decode()
    (action,) = BulkAction.objects.all()
    message = re.search(r'resubmitted <span class="numbers" data-countdown="([\d.]+)">at (.*?)</span>', page)
    assert message is not None and 0 < float(message[1]) <= 10
    assert message[2] == f"{action.starts_at:%H:%M:%S} UTC"


def test_a_bulk_action_is_starting_for_as_long_as_it_can_be_undone(desk: Desk) -> None:
    client = desk("operator")
    client.post(f"/console/orders/{in_error().pk}/resubmit/")
    (action,) = BulkAction.objects.all()
    at = f"/console/bulk/{action.pk}/"
    assert "<span>starting</span>" in client.get(at).content.decode()
    BulkAction.objects.update(starts_at=ago(1))
    page = client.get(at).content.decode()
    assert "<span>running</span>" in page and "<span>starting</span>" not in page


def test_the_black_button_of_a_cause_is_what_its_runbook_advises(olga: Client) -> None:
    group = refused_orders(2)
    at = f"/console/alerts/{group.pk}/"
    page = olga.get(at).content.decode()
    assert main_buttons(page)[0] == "Edit and resubmit 2 orders…"
    warning = "Resubmitting alone helps only if carrier was wrong and has fixed it."
    words = text_of(olga.get(at))
    assert warning in words and "Resubmit 2 orders…" in words
    assert "If our data is wrong, edit it and resubmit, or cancel the order." in words
    assert words.count("If our data is wrong") == words.count("has fixed it") == 1
    preview = olga.get(f"/console/bulk/new/?group={group.pk}")
    assert warning in text_of(
        preview
    ) and "One order is tried first. If that succeeds, the last one follows." in text_of(preview)
    order = OrderProcess.objects.first()
    assert order is not None
    page = olga.get(f"/console/orders/{order.pk}/").content.decode()
    assert main_buttons(page)[0] == "Edit and resubmit…"
    card = text_of(olga.get("/console/"))
    assert "2 orders failed at carrier" in card and "Resubmit 2 orders…" not in card


def test_a_cause_lists_who_ordered_what_and_its_edit_begins_with_what_was_refused(olga: Client) -> None:
    group = refused_orders(2)
    Order.objects.update(title="2 × Tidal Lines")
    page = text_of(olga.get(f"/console/alerts/{group.pk}/"))
    assert page.count("2 × Tidal Lines") == 2 and page.count(EMAIL) == 2
    form = olga.get(f"/console/bulk/edit/?group={group.pk}&do=edit").content.decode()
    fold = form.index("<summary>Other fields</summary>")
    assert form.index('name="ship_to.city"') < fold < form.index('name="payment_method"')


def test_what_a_service_refuses_and_nobody_can_edit_is_better_cancelled(olga: Client) -> None:
    order = in_error()
    close_alerts([order.pk], by="tests", resolution="replaced")
    alert = open_alert(order.pk, code="refused")
    Alert.objects.filter(pk=alert.pk).update(step="reserve-stock")
    buttons = main_buttons(olga.get(f"/console/alerts/{alert.group_id}/").content.decode())
    assert buttons[0].startswith("Cancel 1 order")


def test_a_cause_that_a_resubmission_helps_against_says_so(olga: Client) -> None:
    failed_orders(2)
    (group,) = AlertGroup.objects.all()
    answer = olga.get(f"/console/alerts/{group.pk}/")
    assert main_buttons(answer.content.decode())[0] == "Resubmit 2 orders…"
    assert "has fixed it" not in text_of(answer)


def test_a_cause_whose_orders_wait_for_an_agent_that_is_down_is_not_called_over(olga: Client) -> None:
    orders = failed_orders(3)
    (group,) = AlertGroup.objects.all()
    for order_id in orders:
        resubmit(order_id=order_id, actor=OLGA)
    StepState.objects.filter(process_id__in=orders[:2], name="mix").update(waiting_since=ago(5))
    Circuit.objects.create(agent="kitchen", state="open", opened_at=ago(60), probe_at=ahead(60))
    open_outage("kitchen", code="outage", message="no calls")
    text = text_of(olga.get(f"/console/alerts/{group.pk}/"))
    assert "3 orders were resubmitted by operator:olga" in text
    assert ": 2 wait for kitchen, which is down; 1 is under way." in text
    assert "It is over when these orders get through." in text and "Over since" not in text
    StepState.objects.update(waiting_since=None)
    OrderProcess.objects.update(process_state="processed", finished_at=ago(0))
    text = text_of(olga.get(f"/console/alerts/{group.pk}/"))
    assert ": all 3 got through." in text and "Over since" in text


def test_the_resubmission_of_one_order_is_listed_apart_and_says_what_it_waits_for(olga: Client) -> None:
    first, *others = failed_orders(3)
    single = bulk_services.resubmit_one(order_id=first, actor=OLGA)
    many = bulk_services.create(kind="resubmit", order_ids=others, selection="two orders", actor=OLGA)
    page = olga.get("/console/bulk/").content.decode()
    assert f'href="/console/bulk/{many.pk}/"' in page and f'href="/console/bulk/{single.pk}/"' not in page
    single.items.update(state="acted", acted_at=ago(0))
    StepState.objects.filter(process_id=first, name="mix").update(state="not_started", waiting_since=ago(5))
    Circuit.objects.create(agent="kitchen", paused=True, held_by="otto")
    answer = olga.get("/console/bulk/?of=one")
    page = answer.content.decode()
    assert f'href="/console/bulk/{single.pk}/"' in page and f'href="/console/bulk/{many.pk}/"' not in page
    assert f'href="/console/orders/{first}/"' in page
    assert "1 waits for kitchen, which otto has paused." in text_of(answer)
    assert "1 waits for kitchen, which otto has paused." in text_of(olga.get(f"/console/bulk/{single.pk}/"))
    assert "No bulk actions yet." not in text_of(olga.get("/console/bulk/"))


@pytest.mark.pattern("O1")
def test_badge_page_overview_and_api_count_the_same_open_alerts(olga: Client) -> None:
    failed_orders(3)
    failed_orders(2, code="http_500")
    Circuit.objects.create(agent="kitchen", state="open", opened_at=ago(60), probe_at=ahead(60))
    open_outage("kitchen", code="outage", message="no calls")
    AlertGroup.objects.filter(code="http_500").update(
        snoozed_at=ago(60), snoozed_by="otto", snoozed_until=ahead(3_600)
    )
    inbox = olga.get("/console/alerts/")
    badge = re.search(r'id="open-alerts"[^>]*>(\d+)<', inbox.content.decode())
    assert badge is not None and badge[1] == "6"
    assert "6 open alerts of 3 causes, 1 snoozed." in text_of(inbox)
    assert "All causes 2" in text_of(inbox) and "Snoozed 1" in text_of(inbox)
    assert "6 open alerts" in text_of(olga.get("/console/"))
    client = api_client(token_of(person("operator", "otto")))
    assert client.get("/api/v1/status").json()["open_alerts"] == 6
    groups = client.get("/api/v1/alerts/groups").json()["results"]
    assert (len(groups), sum(group["open"] for group in groups)) == (3, 6)


def test_a_page_that_only_a_post_has_does_not_ask_for_itself_again(olga: Client) -> None:
    order_id = failed_orders(1)[0]
    at = f"/console/orders/{order_id}/"
    live = 'data-events="/events/console/"'
    signed_in(person("operator", "otto")).get(f"{at}compensate/")
    answer = olga.post(f"{at}resubmit/")
    assert "Act anyway" in answer.content.decode() and live not in answer.content.decode()
    assert olga.get(f"{at}resubmit/")["Location"] == at
    refused = olga.post(f"{at}compensate/", {"act_anyway": "1"})  # a url that a GET has, too
    assert refused.status_code == 422 and live in refused.content.decode()
    assert live in olga.get(at).content.decode()


def test_the_heading_of_a_cause_says_what_failed_and_quotes_what_the_service_answered(olga: Client) -> None:
    group = refused_orders(2)
    at, newest = f"/console/alerts/{group.pk}/", Alert.objects.order_by("-pk")[0]
    text = text_of(olga.get(at))
    assert text.count("Nobody owns it.") == 1
    assert "Carrier refused 2 orders" in text and f"carrier: {newest.message}" not in text
    assert "Message: &lt;script&gt;alert(1)&lt;/script&gt; ( refused )" in text
    Event.objects.create(
        order_id=newest.order_id,
        kind="call_failed",
        step="create-shipment",
        attempt=1,
        actor_kind="scheduler",
        actor_name="scheduler:1",
        detail={"code": "refused", "message": newest.message, "exchange": {"status": 422}},
    )
    assert "carrier answered &lt;script&gt;alert(1)&lt;/script&gt; ( refused , 422)" in text_of(olga.get(at))
    Event.objects.update(detail={"code": "no_answer", "message": "", "exchange": {"status": 500}})
    assert "( refused )" in text_of(olga.get(at))
