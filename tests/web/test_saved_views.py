"""Saved views of the list of orders: one's own and those that are shared, in the console, the API and the command."""

import html
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from rest_framework.test import APIClient

from orders.models import AuditEntry, SavedView
from orders.selectors.desk.saved_views import MOST_OWN, MOST_SHARED
from orders.services.operators import erasure
from tests.commands.running import run, short
from tests.support.desk import OLGA
from tests.support.people import api_client, person, signed_in, token_of
from tests.web.console_orders import an_order, in_error
from tests.web.helpers import assert_problem

pytestmark = pytest.mark.django_db
LIST = "/console/orders/"
VIEWS = "/console/orders/views/"
SAVE = f"{VIEWS}save/"
API = "/api/v1/views"
FAILED = "state:error"


@pytest.fixture
def olga(db: None) -> Client:
    return signed_in(person("operator", "olga"))


@pytest.fixture
def otto(db: None) -> Client:
    return signed_in(person("operator", "otto"))


def api(name: str) -> APIClient:
    return api_client(token_of(User.objects.get(username=name)))


def text(response: Any) -> str:
    return " ".join(html.unescape(response.content.decode()).split())


def a_view(owner: str = "olga", name: str = "failed", query: str = FAILED, **fields: Any) -> SavedView:
    return SavedView.objects.create(owner=User.objects.get(username=owner), name=name, query=query, **fields)


def entries() -> list[tuple[str, str, str, bool]]:
    return list(AuditEntry.objects.order_by("pk").values_list("actor", "act", "target", "allowed"))


# --- in the console


def test_a_query_saved_from_the_list_is_a_link_above_it_for_its_owner_alone(
    olga: Client, otto: Client
) -> None:
    in_error()
    assert "Save this view" in text(olga.get(LIST, {"state": "error"}))
    answer = olga.post(SAVE, {"name": "  my   failures ", "query": FAILED})
    assert answer["Location"] == f"{LIST}?q=state%3Aerror"
    page = text(olga.get(answer["Location"]))
    assert "The view “my failures” is saved." in page
    assert '?q=state%3Aerror" aria-current="true"> my failures </a>' in page
    assert "Save this view" not in page
    assert "my failures" not in text(otto.get(LIST))
    assert "only you" in text(olga.get(VIEWS))
    view = SavedView.objects.get()
    assert entries() == [("olga", "save view", f"view {view.pk}", True)]
    assert AuditEntry.objects.get().after == {"name": "my failures", "query": FAILED, "is_shared": False}


def test_all_operators_see_a_shared_view_and_only_its_owner_or_an_admin_changes_it(
    olga: Client, otto: Client
) -> None:
    view = a_view(is_shared=True)
    page = f"{VIEWS}{view.pk}/"
    changed = {"name": "failed", "query": "state:error age:>2h", "is_shared": "on"}
    assert 'failed <span class="chip__count">olga</span>' in text(otto.get(LIST))
    assert "all operators, shared by olga" in text(otto.get(VIEWS))
    assert "Only olga or an admin changes" in text(otto.get(page))
    assert "Only olga or an admin changes" in text(otto.post(page, changed))
    otto.post(f"{page}delete/")
    assert SavedView.objects.get().query == FAILED
    root = signed_in(person("admin", "root"))
    assert root.post(page, changed).status_code == 302
    assert (SavedView.objects.get().query, SavedView.objects.get().by) == (changed["query"], "root")
    assert olga.post(f"{page}delete/")["Location"] == VIEWS
    assert not SavedView.objects.exists()
    target = f"view {view.pk}"
    assert entries() == [
        ("otto", "change view", target, False),
        ("otto", "delete view", target, False),
        ("root", "change view", target, True),
        ("olga", "delete view", target, True),
    ]


def test_a_view_of_somebody_else_does_not_exist_until_it_is_shared(olga: Client, otto: Client) -> None:
    view = a_view()
    page = f"{VIEWS}{view.pk}/"
    root = signed_in(person("admin", "root"))
    for other in (otto, root):
        assert other.get(page).status_code == 404
        assert other.post(page, {"name": "a", "query": FAILED}).status_code == 404
        assert other.post(f"{page}delete/").status_code == 404
    assert olga.post(page, {"name": "renamed", "query": FAILED, "is_shared": "on"}).status_code == 302
    assert "renamed" in text(otto.get(LIST))


@pytest.mark.parametrize(
    ("name", "query", "problem"),
    [
        ("Failed", "age:>1h", "olga has a view called “Failed” already."),
        ("late", "promise:late", "otto shares a view called “late”."),
        ("new", "sate:error", "There is no field “sate”. Did you mean state?"),
        ("new", "agent:carier", "no agent is called “carier”"),
        ("new", "", "a view of all orders is the list itself"),
        ("", FAILED, "Enter a name for the view."),
        ("n" * 61, FAILED, "Shorten the name to 60 characters."),
    ],
)
def test_what_cannot_be_saved_says_why_and_keeps_what_was_entered(
    olga: Client, otto: Client, name: str, query: str, problem: str
) -> None:
    a_view()
    a_view("otto", "late", "promise:late", is_shared=True)
    a_view("otto", "new", "promise:late")  # somebody's own: nobody else knows
    answer = olga.post(SAVE, {"name": name, "query": query})
    assert answer.status_code == 422
    assert problem in text(answer)
    assert not query or query in text(answer)
    assert SavedView.objects.count() == 3


def test_a_person_has_so_many_views_and_so_many_are_shared(olga: Client, otto: Client) -> None:
    for number in range(MOST_OWN):
        a_view(name=f"view {number}")
    assert f"olga has {MOST_OWN} views" in text(olga.post(SAVE, {"name": "more", "query": FAILED}))
    page = text(olga.get(LIST))
    assert page.count('class="chip"') == 12 and "18 more views" in page
    SavedView.objects.all().delete()
    SavedView.objects.bulk_create(
        SavedView(owner=User.objects.get(username="otto"), name=f"{number}", query=FAILED, is_shared=True)
        for number in range(MOST_SHARED)
    )
    refused = text(olga.post(SAVE, {"name": "more", "query": FAILED, "is_shared": "on"}))
    assert f"{MOST_SHARED} views are shared" in refused
    assert olga.post(SAVE, {"name": "more", "query": FAILED}).status_code == 302


def test_a_view_that_cannot_be_read_any_more_says_so_and_can_be_corrected(olga: Client) -> None:
    view = a_view(query="colour:red")
    page = f"{VIEWS}{view.pk}/"
    assert "Cannot be read:</span> failed" in text(olga.get(LIST))
    assert "It cannot be read. There is no field “colour”." in text(olga.get(VIEWS))
    assert "Nothing was searched" in text(olga.get(LIST, {"q": view.query}))
    assert "finds nothing, because its query cannot be read" in text(olga.get(page))
    assert "There is no field" in text(olga.post(page, {"name": "renamed", "query": "colour:red"}))
    assert olga.post(page, {"name": "failed", "query": FAILED}).status_code == 302
    assert "Cannot be read" not in text(olga.get(LIST))


def test_a_viewer_sees_shared_views_and_saves_none(olga: Client) -> None:
    view = a_view(is_shared=True)
    viewer = signed_in(person("viewer", "vera"))
    page = text(viewer.get(LIST, {"state": "pending"}))
    assert "failed" in page and "Save this view" not in page
    assert viewer.post(SAVE, {"name": "a", "query": FAILED}).status_code == 403
    assert viewer.post(f"{VIEWS}{view.pk}/delete/").status_code == 403


# --- in the API


def test_the_api_saves_lists_changes_and_deletes_views(olga: Client, otto: Client) -> None:
    client = api("olga")
    saved = client.post(API, {"name": "failed", "query": FAILED, "shared": True}, format="json")
    assert saved.status_code == 201
    body = saved.json()
    expected = {
        "name": "failed",
        "query": FAILED,
        "shared": True,
        "owner": "olga",
        "by": "olga",
        "problem": "",
    }
    assert body == expected | {"id": body["id"], "at": body["at"]}
    again = client.post(API, {"name": "failed", "query": FAILED, "shared": True}, format="json")
    assert (again.status_code, again.json()) == (201, body)
    assert api("otto").get(API).json() == {"results": [body]}
    place = f"{API}/{body['id']}"
    assert client.post(f"{place}/change", {"query": "age:>1h"}, format="json").json()["result"] == "done"
    same = client.post(f"{place}/change", {"query": "age:>1h"}, format="json")
    assert same.json()["result"] == "already"
    assert client.get(API).json()["results"][0]["query"] == "age:>1h"
    refused = api("otto").post(f"{place}/delete", {}, format="json")
    assert "Only olga or an admin" in assert_problem(refused, "act_refused")["detail"]
    assert client.post(f"{place}/delete", {}, format="json").json()["result"] == "done"
    assert client.get(API).json() == {"results": []}
    assert_problem(client.post(f"{place}/delete", {}, format="json"), "not_found")


def test_the_api_refuses_a_name_that_is_taken_and_a_query_that_cannot_be_read(
    olga: Client, otto: Client
) -> None:
    hidden = a_view("otto")
    a_view()
    client = api("olga")
    taken = client.post(API, {"name": "failed", "query": "age:>1h"}, format="json")
    assert "olga has a view called “failed” already" in assert_problem(taken, "act_refused")["detail"]
    unread = client.post(API, {"name": "new", "query": "sate:error"}, format="json")
    assert_problem(unread, "validation_failed")
    assert_problem(client.post(f"{API}/{hidden.pk}/change", {}, format="json"), "validation_failed")
    missing = client.post(f"{API}/{hidden.pk}/change", {"name": "mine"}, format="json")
    assert_problem(missing, "not_found")
    assert [view["id"] for view in client.get(API).json()["results"]] != [hidden.pk]


# --- in the command


def test_the_command_lists_the_orders_of_a_view_and_of_a_query_beside_it(olga: Client, otto: Client) -> None:
    failed, pending = in_error().pk, an_order({}, process_state="pending").pk
    a_view(is_shared=True)
    a_view("otto", "Failed", "state:pending")  # the shared one goes first
    out = run("orders", "--view", "FAILED").out
    assert short(failed) in out and short(pending) not in out
    assert "no matching orders" in run("orders", "--view", "failed", "age:>2d").out


def test_the_command_says_which_views_there_are(olga: Client, otto: Client) -> None:
    a_view(name="late", query="promise:late", is_shared=True)
    a_view()
    a_view("otto")
    a_view("otto", "old", "colour:red")
    assert run("orders", "--view", "lost").err == "there is no view 'lost'; shared views: late\n"
    assert "several people have one: olga, otto" in run("orders", "--view", "failed").err
    broken = run("orders", "--view", "old")
    assert broken.code == 2 and "There is no field “colour”" in broken.err


# --- in an erasure


def test_an_erasure_takes_the_customer_out_of_views(olga: Client) -> None:
    person("customer", "c14")
    facts = {"email": "ada.love@mail.example", "first_name": "Ada", "last_name": "Lovelace"}
    User.objects.filter(username="c14").update(**facts)
    for name in ("of ada.love@mail.example", "of Ada Lovelace"):  # both get the same pseudonym
        a_view(name=name, query="customer:ada.love@mail.example state:error")
    erasure.erase(email="ada.love@mail.example", actor=OLGA)
    for view in SavedView.objects.all():
        assert "love" not in f"{view.name} {view.query}".lower()
        assert view.query.startswith("customer:erased-")
    names = list(SavedView.objects.values_list("name", flat=True))
    assert len(names) == 2 and all(name.startswith("of erased-") for name in names)
