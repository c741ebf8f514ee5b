"""Operators' notes on an order: in the console, the API, the hand-over and the command; and in nothing of customers."""

import json
import re
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from rest_framework.test import APIClient

from orders.api.feed_views import change_bodies
from orders.fields.order_numbers import spoken_number
from orders.models import Address, AuditEntry, OrderNote, WebhookDelivery
from orders.services.audit import Actor
from orders.services.operators.order_notes import add_note
from orders.webhooks.fan_out import fan_out
from tests.architecture.source import imports, within
from tests.support.client_webhooks import happen, make_endpoint, order_of
from tests.support.factories import ago
from tests.support.finished_orders import archive, finished_order
from tests.support.order_bodies import LONDON
from tests.support.people import api_client, person, signed_in, token_of
from tests.support.wait import until
from tests.web.conftest import Desk
from tests.web.console_orders import in_error
from tests.web.helpers import assert_problem
from tests.web.shopping import guest_page
from tests.web.test_console_alerts import text_of
from tests.web.test_own_things_only import customers_places
from tests.web.test_refused_forms import error_at, fold_with

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]
SECRET = "zanzibar"
"""A word that is in nothing but a note."""


@pytest.fixture
def olga(db: None) -> Client:
    return signed_in(person("operator", "olga"))


def page_of(client: Client, order_id: Any) -> str:
    return client.get(f"/console/orders/{order_id}/").content.decode()


def test_a_note_is_near_the_top_of_the_page_and_whole_in_its_history(olga: Client) -> None:
    order_id = in_error().pk
    text = f"She takes the <black> frame.\n{'It is for her mother. ' * 20}"
    answer = olga.post(f"/console/orders/{order_id}/note/", {"text": text}, follow=True)
    assert answer.redirect_chain == [(f"/console/orders/{order_id}/#note", 302)]
    form, rest = answer.content.decode().partition('id="note"')[2].split("</section>", 1)
    assert "The note has been added." in form and "has been added" not in rest
    olga.post(f"/console/orders/{order_id}/note/", {"text": "She has paid."})
    page = page_of(olga, order_id)
    top, history = page.split('id="events"')
    assert re.search(r"Note by <strong>olga</strong>, .*?<q>She has paid\.</q>", top, re.DOTALL)
    assert top.index("newest-note") < top.index("What to know about") and "All notes" in top
    assert "<black>" not in page and "mother" not in top
    newest, earlier = re.findall(r'<li class="event event--note">.*?</li>', history, re.DOTALL)
    assert "Note: She has paid." in newest
    whole = text.strip().replace("<black>", "&lt;black&gt;").replace("\n", "<br>")
    assert f"Note: {whole}" in earlier and "olga" in earlier


def test_notes_are_among_the_events_in_the_order_in_which_they_came(olga: Client) -> None:
    order_id = finished_order(days=2)
    add_note(order_id=order_id, actor=Actor(name="otto"), text="the first")
    OrderNote.objects.update(at=ago(3 * 86_400))
    add_note(order_id=order_id, actor=Actor(name="otto"), text="the last")
    words = text_of(olga.get(f"/console/orders/{order_id}/")).partition("History")[2]
    parts = ("Note: the last", "Processed: every step", "Received", "Note: the first")
    assert sorted(parts, key=words.index) == list(parts)


@pytest.mark.parametrize("is_archived", [False, True], ids=("finished", "archived"))
def test_a_finished_order_is_noted_about_on_its_page(olga: Client, is_archived: bool) -> None:
    order_id = finished_order(days=1)
    if is_archived:
        archive(order_id)
    olga.post(f"/console/orders/{order_id}/note/", {"text": "She sent it back."})
    assert "Note by olga" in text_of(olga.get(f"/console/orders/{order_id}/"))


def test_a_refused_note_is_refused_at_its_field_and_keeps_what_was_typed(olga: Client) -> None:
    order_id, text = in_error().pk, "It is long. " * 200
    page = olga.post(f"/console/orders/{order_id}/note/", {"text": text}, follow=True).content.decode()
    fold = fold_with(page, "note-text")
    assert error_at(fold, "note-text") == "Shorten the note to 2000 characters."
    assert text.strip() in fold and re.search(r"<details[^>]* open", fold)
    fold = fold_with(page_of(olga, order_id), "note-text")
    assert " open" not in fold.partition(">")[0] and "It is long." not in fold


def test_who_only_looks_reads_notes_and_has_no_form(desk: Desk) -> None:
    order_id = in_error().pk
    add_note(order_id=order_id, actor=Actor(name="otto"), text="She has moved.")
    page = page_of(desk("viewer"), order_id)
    assert "She has moved." in page and "note-text" not in page
    assert desk("viewer").post(f"/console/orders/{order_id}/note/", {"text": "no"}).status_code == 403
    assert OrderNote.objects.count() == 1


def test_a_program_adds_a_note_and_reads_all_notes(db: None) -> None:
    order_id = in_error().pk
    petra = api_client(token_of(person("operator", "petra")))
    path = f"/api/v1/orders/{order_id}"
    answer = petra.post(f"{path}/notes", {"text": "She has moved."}, format="json")
    assert answer.json() == {"result": "done", "message": "The note has been added."}
    again = petra.post(f"{path}/notes", {"text": "She has moved."}, format="json")
    assert again.json()["result"] == "already"
    (note,) = petra.get(f"{path}/details").json()["notes"]
    assert (note["by"], note["text"]) == ("petra", "She has moved.")
    assert AuditEntry.objects.get().target == f"order {order_id}"
    assert_problem(petra.post(f"{path}/notes", {"text": " "}, format="json"), "validation_failed")
    viewer = api_client(token_of(person("viewer")))
    assert_problem(viewer.post(f"{path}/notes", {"text": "no"}, format="json"), "permission_denied")
    missing = petra.post(f"/api/v1/orders/{'0' * 8}-0000-4000-8000-{'0' * 12}/notes", {"text": "no"})
    assert_problem(missing, "not_found")


def test_the_hand_over_has_the_notes_of_its_range_with_their_orders(olga: Client) -> None:
    order_id = in_error().pk
    add_note(order_id=order_id, actor=Actor(name="otto"), text="too old")
    OrderNote.objects.update(at=ago(9 * 3_600))
    add_note(order_id=order_id, actor=Actor(name="otto"), text="Call her\nat noon.")
    page, text = olga.get("/console/handover/").content.decode(), olga.get("/console/handover.txt")
    assert f'href="/console/orders/{order_id}/"' in page
    for shown in (page, text.content.decode()):
        assert "at noon." in shown and "too old" not in shown
    assert (
        f"on order {spoken_number(order_id)} ({order_id}):\n    Call her\n    at noon.\n"
        in text.content.decode()
    )
    body = api_client(token_of(person("viewer"))).get("/api/v1/handover").json()
    assert [(note["order_id"], note["by"]) for note in body["order_notes"]] == [(str(order_id), "otto")]


def test_the_command_prints_the_notes_of_an_order(capsys: pytest.CaptureFixture[str]) -> None:
    order_id = in_error().pk
    add_note(order_id=order_id, actor=Actor(name="otto"), text="Call her\nat noon.")
    call_command("order", str(order_id))
    assert re.search(
        r"\nnotes\n  otto, [-0-9]+ [:0-9]+ UTC\n    Call her\n    at noon\.\n", capsys.readouterr().out
    )


@pytest.mark.parametrize("is_archived", [False, True], ids=("finished", "archived"))
def test_customers_and_clients_never_see_a_note(ada: APIClient, is_archived: bool) -> None:
    order_id, guests = (finished_order(days=1, purchase={"customer": owner}) for owner in (ada.user, None))
    for noted in (order_id, guests):
        if is_archived:
            archive(noted)
        add_note(order_id=noted, actor=Actor(name="otto"), text=f"She is in {SECRET}.")
    address = Address.objects.create(user=ada.user, **LONDON)
    places = customers_places({"order_id": order_id, "address_id": address.pk})
    own = ("/api/v1/orders", "/api/v1/changes", "/api/v1/requests", "/account/", "/account/orders/")
    paths = [*places.values(), *own, guest_page(guests)]
    browser, answers = signed_in(ada.user), {}
    for path in paths:
        answer = (ada if path.startswith("/api/") else browser).get(path, follow=True)
        answers[path] = answer.status_code
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        assert SECRET not in body.decode(), path
    assert [path for path, status in answers.items() if status == 200 and str(order_id) in path]
    assert answers["/api/v1/changes"] == answers[paths[-1]] == 200


@pytest.mark.django_db(transaction=True)
def test_neither_the_feed_of_changes_nor_a_webhook_has_a_note(ada: APIClient) -> None:
    endpoint, order_id = make_endpoint(ada.user, "https://receiver.example/hook"), order_of(ada.user)
    happen(order_id, step="mix")
    add_note(order_id=order_id, actor=Actor(name="otto"), text=SECRET)
    happen(order_id, step="bake")
    until(lambda: fan_out(render=change_bodies), what="the end of the feed", seconds=60)
    sent = WebhookDelivery.objects.filter(endpoint=endpoint).order_by("id").values_list("body", flat=True)
    assert [json.loads(body)["data"]["step"] for body in sent] == ["mix", "bake"]
    feed = ada.get("/api/v1/changes").json()["results"]
    assert [change["step"] for change in feed] == ["mix", "bake"]
    assert SECRET not in "".join([*sent, json.dumps(feed)])


def test_only_the_desk_knows_of_notes_so_no_other_room_can_show_them() -> None:
    """Customers' pages, events, feeds, streams and webhooks are in other rooms (docs/adr/0074)."""
    tables = ("orders.models.order_notes", "orders.selectors.desk.order_notes")
    knowing = {
        module for module in within("orders") for each in imports(module) if each.target.startswith(tables)
    }
    assert knowing == {
        *("orders.models", "orders.selectors.desk.order_notes", "orders.services.operators.order_notes"),
        *(
            "orders.selectors.desk.order_detail",
            "orders.selectors.desk.handover",
            "orders.wording.order_notes",
        ),
    }
