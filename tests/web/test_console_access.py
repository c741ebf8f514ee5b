"""Who may do what in the console: a table of access level × url × method, for every url there is."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import resolve

from orders.console import urls
from orders.models import (
    AlertGroup,
    AuditEntry,
    BulkAction,
    Circuit,
    Event,
    OrderProcess,
    OutgoingMessage,
    StepState,
)
from orders.services import audit
from tests.support.people import person, signed_in
from tests.web.console_places import PUBLIC

pytestmark = pytest.mark.django_db
ROLES = ("customer", "viewer", "operator", "admin")
"""Each may do what the ones before it may do."""
PAGE = ("viewer", None)
DO = (None, "operator")
TABLE: dict[str, tuple[str | None, str | None]] = {
    **dict.fromkeys(
        (
            *("overview", "agents", "supervisor", "processes", "workflow", "orders", "orders-csv", "order"),
            *("compensation", "set-aside", "alerts", "alerts-csv", "group", "bulk-actions", "bulk"),
            *("handover", "handover-text", "cause-history", "group-times"),
            *("audit", "audit-csv", "chaos", "second-factor-qr", "outbox", "decisions", "deadlines", "find"),
            *(
                "approvals",
                "group-presence",
                "order-presence",
                "order-rehearsal",
                "pauses",
                "query-words",
                "views",
            ),
        ),
        PAGE,
    ),
    **dict.fromkeys(
        (
            *(
                "pause-agent",
                "resume-agent",
                "limit-agent",
                "order-resubmit",
                "order-retry",
                "order-priority",
                "order-pause",
                "order-resume",
            ),
            *("set-aside-replay", "order-note", "group-note", "group-acknowledge", "group-unacknowledge"),
            *("group-take", "group-assign", "group-snooze", "group-wake", "group-ticket"),
            *("handover-note", "handover-send", "view-save", "view-delete"),
            *("bulk-create", "bulk-edit-create", "bulk-act", "outbox-retry", "step-decide"),
            *("step-settle-ask", "order-erase-ask", "force-circuit-ask", "unforce-circuit-ask"),
            "intake-pause-ask",
            *("approval-withdraw", "step-resume"),
        ),
        DO,
    ),
    **dict.fromkeys(
        (
            *("force-circuit", "unforce-circuit", "chaos-faults", "chaos-clear", "chaos-kill", "chaos-drill"),
            *("group-runbook", "approval-approve", "approval-decline", "intake-pause", "intake-resume"),
        ),
        (None, "admin"),
    ),
    **dict.fromkeys(
        (
            *(
                "order-compensate",
                "order-edit",
                "bulk-edit",
                "step-decide-confirmed",
                "step-skip",
                "step-edit",
            ),
            *("view", "step-pause"),
        ),
        ("operator", "operator"),
    ),
    "step-settle": ("operator", "admin"),
    "order-erase": ("operator", "admin"),
    "bulk-new": ("operator", None),
    "second-factor": ("viewer", "viewer"),
    "tokens": ("viewer", "viewer"),
    "token-revoke": ("viewer", "viewer"),
    **dict.fromkeys(
        (
            *("second-factor-set-up", "second-factor-codes", "second-factor-remove"),
            "token-pin",
        ),
        (None, "viewer"),
    ),
}
"""Who may read a url, and who may act at it, by its name. None: nobody, the url has no such method."""


def state() -> list[Any]:
    """Everything that an act could change."""
    rows: list[Any] = []
    for model in (OrderProcess, StepState, AlertGroup, BulkAction, Circuit, Event, OutgoingMessage):
        rows += model.objects.order_by("pk").values_list()
    return rows


def ask(client: Client, method: str, path: str) -> HttpResponse:
    answer = getattr(client, method)(path)
    if answer.streaming:
        b"".join(answer.streaming_content)
    return answer


def may(role: str, least: str | None) -> bool:
    return least is not None and ROLES.index(role) >= ROLES.index(least)


def kept_as(name: str, path: str, level: str) -> tuple[str, str]:
    """The act and the target under which a refusal at a url is recorded."""
    return audit.act_and_target(
        name, resolve(path).kwargs, level if name.startswith("second-factor") else path
    )


def test_every_url_is_in_the_table() -> None:
    names = [str(pattern.name) for pattern in urls.urlpatterns]
    assert len(set(names)) == len(names)
    assert set(names) - PUBLIC == TABLE.keys()


def test_a_stranger_is_sent_to_the_sign_in_page_and_changes_nothing(places: dict[str, str]) -> None:
    before = state()
    for name, path in places.items():
        for method in ("get", "post"):
            answer = ask(Client(), method, path)
            assert answer.status_code == 302, (name, method)
            assert answer["Location"].startswith("/console/sign-in/?next="), (name, method)
    assert state() == before
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("role", ROLES)
def test_each_access_level_may_do_what_the_table_says_and_every_refused_act_is_recorded(
    role: str, places: dict[str, str]
) -> None:
    user = person(role)
    before, wrong, refused = state(), [], set()
    for method in ("get", "post"):
        for name, path in places.items():
            answer = ask(signed_in(user), method, path)
            least = TABLE[name][method == "post"]
            if may(role, least):
                is_right = answer.status_code < 400 or answer.status_code in (400, 404, 409, 422)
                is_right = is_right and "sign-in" not in answer.headers.get("Location", "")
                if name == "second-factor" and method == "post":
                    is_right = answer.status_code == 403  # no code was given
                if name == "second-factor-set-up":
                    is_right = answer.status_code == 403
            elif least is None and may(role, TABLE[name][method != "post"]):
                is_right = answer.status_code == (302 if method == "get" else 405)
            else:
                is_right = answer.status_code == 403
                if method == "post":
                    refused.add((role, *kept_as(name, path, role)))
            if not is_right:
                wrong.append((method, name, answer.status_code, answer.headers.get("Location")))
    assert wrong == []
    entries = AuditEntry.objects.filter(allowed=False, result__startswith="needs ")
    assert set(entries.values_list("actor", "act", "target")) == refused
    if role in ("customer", "viewer"):
        assert state() == before


def test_a_forged_request_changes_nothing_and_is_recorded(places: dict[str, str]) -> None:
    User.objects.filter(pk=person("admin").pk).update(is_superuser=True)
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(username="admin"))
    before = state()
    acts = {name for name, (_, least) in TABLE.items() if least}
    for name in acts:
        answer = client.post(places[name], headers={"Origin": "https://evil.example"})
        assert answer.status_code == 403, name
        assert "Nothing has changed" in answer.content.decode()
    assert state() == before
    entries = list(AuditEntry.objects.all())
    assert {(entry.actor, entry.act, entry.target, entry.allowed) for entry in entries} == {
        ("admin", *kept_as(name, places[name], "admin"), False) for name in acts
    }
    assert all(entry.result.startswith("forged: ") for entry in entries)


def test_a_forged_request_in_the_shop_is_not_recorded_as_an_operators_act() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(person("customer"))
    assert client.post("/account/sign-out/").status_code == 403
    assert not AuditEntry.objects.exists()


def test_a_viewer_sees_no_button_that_she_may_not_press(places: dict[str, str]) -> None:
    client = signed_in(person("viewer"))
    for name, (least, _) in TABLE.items():
        if least != "viewer" or name in (
            "chaos",
            "second-factor",
            "second-factor-qr",
            "tokens",
            "token-revoke",
            "find",
            "order-presence",
            "group-presence",
        ):
            continue
        page = client.get(places[name])
        if page.streaming or not page["Content-Type"].startswith("text/html"):
            continue
        forms = page.content.decode().split("<form")[1:]
        posts = [form for form in forms if 'method="post"' in form.split(">", 1)[0]]
        assert len(posts) == 1, (name, posts)  # the form that signs out


def test_an_operator_is_refused_in_the_consoles_frame_and_a_customer_in_the_shops(
    places: dict[str, str],
) -> None:
    page = signed_in(person("viewer")).post(places["pause-agent"])
    assert page.status_code == 403
    text = page.content.decode()
    assert 'aria-label="Console"' in text and "You do not have access" in text
    assert '<a class="button button--main" href="/console/">Go to the overview</a>' in " ".join(text.split())
    assert "Browse posters" not in text
    text = signed_in(person("customer")).get("/console/").content.decode()
    assert "Browse posters" in text and "open-alerts" not in text


def test_pages_are_not_cached(places: dict[str, str]) -> None:
    client = signed_in(person("viewer"))
    for name in ("overview", "orders", "order", "audit"):
        assert "no-store" in client.get(places[name])["Cache-Control"], name
