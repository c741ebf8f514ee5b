"""Who may do what in the console: a table of role × address × method, over every address that there is."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import resolve, reverse

from orders.console import urls
from orders.console.csv_export import csv_lines
from orders.engine.alerts import NewAlert, open_alerts
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
from tests.support.factories import make_order
from tests.support.people import person, signed_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("unhurried")]

ROLES = ("customer", "viewer", "operator", "admin")
"""Each may what the ones before may."""

PAGE = ("viewer", None)
DO = (None, "operator")
TABLE: dict[str, tuple[str | None, str | None]] = {
    **dict.fromkeys(
        (
            *("overview", "agents", "supervisor", "workflow", "orders", "orders-csv", "order"),
            *("compensation", "set-aside", "alerts", "alerts-csv", "group", "bulk-actions", "bulk"),
            *("audit", "audit-csv", "chaos", "second-factor-qr", "outbox"),
        ),
        PAGE,
    ),
    **dict.fromkeys(
        (
            *("pause-agent", "resume-agent", "order-resubmit", "order-retry", "order-priority"),
            *("set-aside-replay", "group-note", "group-acknowledge", "group-unacknowledge"),
            *("bulk-create", "bulk-act", "outbox-retry"),
        ),
        DO,
    ),
    **dict.fromkeys(
        ("force-circuit", "unforce-circuit", "chaos-faults", "chaos-clear", "chaos-kill"), (None, "admin")
    ),
    **dict.fromkeys(("order-compensate", "step-skip", "step-edit"), ("operator", "operator")),
    "step-settle": ("admin", "admin"),
    "bulk-new": ("operator", None),
    "second-factor": ("viewer", "viewer"),
    **dict.fromkeys(
        ("second-factor-set-up", "second-factor-codes", "second-factor-remove"), (None, "viewer")
    ),
}
"""Who may read an address, and who may act at it, by its name; None: nobody, there is no such method."""
PUBLIC = {"sign-in"}


@pytest.fixture
def places() -> dict[str, str]:
    """Every address of the console but the sign-in, with what it is about in the database."""
    order = make_order({"mix": "failed"}, process_state="error")
    open_alerts([NewAlert(order.order_id, "step_failed", "refused", "no flour", "mix", "kitchen")])
    Circuit.objects.create(agent="kitchen")
    action = BulkAction.objects.create(
        kind="resubmit", what="one order", by="olga", starts_at="2030-01-01T00:00Z", waves=[1], total=1
    )
    message = OutgoingMessage.objects.create(
        kind="sign_up", state="failed", give_up_at="2030-01-01T00:00Z", ended_at="2030-01-01T00:00Z"
    )
    about: dict[str, Any] = {
        "message_id": message.pk,
        "order_id": order.order_id,
        "group_id": AlertGroup.objects.get().pk,
        "action_id": action.pk,
        "agent": "kitchen",
        "step": "mix",
        "act": "pause",
        "number": 1,
        "service": "mail",
        "role": "jobs",
    }
    found = {}
    for pattern in urls.urlpatterns:
        if pattern.name not in PUBLIC:
            wanted = {name: about[name] for name in pattern.pattern.converters}
            found[str(pattern.name)] = reverse(f"console:{pattern.name}", kwargs=wanted)
    return found


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


def kept_as(name: str, path: str, who: str) -> tuple[str, str]:
    """The act and the target that a refusal at an address is kept under."""
    return audit.named(name, resolve(path).kwargs, who if name.startswith("second-factor") else path)


def test_every_address_is_in_the_table() -> None:
    names = [str(pattern.name) for pattern in urls.urlpatterns]
    assert len(set(names)) == len(names)
    assert set(names) - PUBLIC == TABLE.keys()


def test_a_stranger_is_led_to_the_sign_in_and_does_nothing(places: dict[str, str]) -> None:
    before = state()
    for name, path in places.items():
        for method in ("get", "post"):
            answer = ask(Client(), method, path)
            assert answer.status_code == 302, (name, method)
            assert answer["Location"].startswith("/console/sign-in/?next="), (name, method)
    assert state() == before
    assert not AuditEntry.objects.exists()


@pytest.mark.parametrize("role", ROLES)
def test_a_role_may_what_the_table_says_and_every_refused_act_is_written_down(
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
                is_right = answer.status_code == 405
            else:
                is_right = answer.status_code == 403
                if method == "post":
                    refused.add((role, *kept_as(name, path, role)))
            if not is_right:
                wrong.append((method, name, answer.status_code, answer.headers.get("Location")))
    assert wrong == []
    entries = AuditEntry.objects.filter(allowed=False, said__startswith="needs ")
    assert set(entries.values_list("actor", "act", "target")) == refused
    if role in ("customer", "viewer"):
        assert state() == before


def test_a_forged_request_does_nothing_and_is_written_down(places: dict[str, str]) -> None:
    User.objects.filter(pk=person("admin").pk).update(is_superuser=True)
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get())
    before = state()
    acts = {name for name, (_, least) in TABLE.items() if least}
    for name in acts:
        answer = client.post(places[name], headers={"Origin": "https://evil.example"})
        assert answer.status_code == 403, name
        assert "Nothing was done" in answer.content.decode()
    assert state() == before
    entries = list(AuditEntry.objects.all())
    assert {(one.actor, one.act, one.target, one.allowed) for one in entries} == {
        ("admin", *kept_as(name, places[name], "admin"), False) for name in acts
    }
    assert all(one.said.startswith("forged: ") for one in entries)


def test_a_forged_request_in_the_shop_is_no_operators_act() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(person("customer"))
    assert client.post("/account/sign-out/").status_code == 403
    assert not AuditEntry.objects.exists()


def test_a_viewer_sees_no_button_that_she_may_not_press(places: dict[str, str]) -> None:
    client = signed_in(person("viewer"))
    for name, (least, _) in TABLE.items():
        if least != "viewer" or name in ("chaos", "second-factor", "second-factor-qr"):
            continue
        page = client.get(places[name])
        if page.streaming or not page["Content-Type"].startswith("text/html"):
            continue
        forms = page.content.decode().split("<form")[1:]
        posts = [form for form in forms if 'method="post"' in form.split(">", 1)[0]]
        assert len(posts) == 1, (name, posts)  # the one that signs out


def test_who_is_at_the_desk_is_refused_in_the_consoles_frame_and_a_customer_in_the_shops(
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


def test_pages_are_kept_by_nobody(places: dict[str, str]) -> None:
    client = signed_in(person("viewer"))
    for name in ("overview", "orders", "order", "audit"):
        assert "no-store" in client.get(places[name])["Cache-Control"], name


# The audit log.


@pytest.mark.parametrize(
    "sql", ["UPDATE orders_auditentry SET actor = 'nobody'", "DELETE FROM orders_auditentry"]
)
def test_the_audit_log_is_only_added_to(sql: str) -> None:
    AuditEntry.objects.create(actor="olga", act="resubmit")
    with (
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(sql)
    assert AuditEntry.objects.get().actor == "olga"


BODIES: dict[str, dict[str, str]] = {
    "order-resubmit": {"now": "1"},
    "order-retry": {},
    "order-priority": {"priority": "7"},
    "order-compensate": {"reason": "r", "typed": "not this"},
    "step-skip": {"reason": "r", "typed": "not this"},
    "step-settle": {"how": "done", "reason": "r"},
    "set-aside-replay": {},
    "group-note": {"text": "seen"},
    "group-acknowledge": {},
    "group-unacknowledge": {},
    "pause-agent": {"reason": "r"},
    "resume-agent": {},
    "force-circuit": {"state": "open", "seconds": "900", "reason": "r"},
    "unforce-circuit": {},
    "bulk-act": {},
}
"""Acts that leave an entry, with what is sent."""


def test_one_filter_finds_an_act_and_who_was_refused_it(places: dict[str, str]) -> None:
    admin, viewer = signed_in(person("admin")), signed_in(person("viewer"))
    kept: dict[str, set[tuple[str, str]]] = {"admin": set(), "viewer": set()}
    for name, body in BODIES.items():
        for who, client in (("admin", admin), ("viewer", viewer)):
            earlier = AuditEntry.objects.count()
            client.post(places[name], body)
            (entry,) = AuditEntry.objects.order_by("id")[earlier:]
            kept[who].add((entry.act, entry.target))
    assert kept["admin"] == kept["viewer"]
    order_id = StepState.objects.values_list("process_id", flat=True)[0]
    assert {("skip", f"order {order_id}"), ("pause-agent", "agent kitchen")} < kept["viewer"]
    viewer.post(places["bulk-create"], {"do": "compensate"})
    assert AuditEntry.objects.latest("id").act == "bulk compensate"
    viewer.post(places["bulk-create"], data=b"no form", content_type="multipart/form-data; boundary=")
    assert AuditEntry.objects.latest("id").act == "bulk-create"


def test_what_a_service_refused_is_kept_as_refused(places: dict[str, str]) -> None:
    client = signed_in(person("admin"))
    client.post(places["order-compensate"], BODIES["order-compensate"])
    client.post(places["force-circuit"], BODIES["force-circuit"] | {"reason": " "})
    client.post(places["pause-agent"], BODIES["pause-agent"])
    kept = AuditEntry.objects.order_by("id").values_list("act", "allowed", "said")
    assert list(kept) == [
        ("compensate", False, "To confirm, type cancel."),
        ("force-circuit", False, "Give a reason for forcing the circuit."),
        ("pause-agent", True, "The agent kitchen is paused. Its steps wait until it is resumed."),
    ]


@pytest.fixture
def entries() -> None:
    rows = [
        AuditEntry(
            actor="olga", act="pause-agent", target="kitchen", said="kitchen is paused", reason="it burns"
        ),
        AuditEntry(
            actor="=olga()",
            act="edit",
            target="order 1",
            before={"a": 1, "b": {"c": "x"}},
            after={"a": 1, "b": {"c": "y"}},
        ),
        AuditEntry(
            actor="otto", act="compensate", target="order 2", allowed=False, said="needs orders.operate"
        ),
    ]
    for row, at in zip(rows, ("2026-11-01", "2026-11-02", "2026-11-03"), strict=True):
        row.at = f"{at}T12:00Z"
        row.save()


@pytest.mark.parametrize(
    ("query", "actors"),
    [
        ("", ["otto", "=olga()", "olga"]),
        ("actor=OLGA", ["=olga()", "olga"]),
        ("act=edit", ["=olga()"]),
        ("target=order", ["otto", "=olga()"]),
        ("allowed=no", ["otto"]),
        ("allowed=yes&actor=o", ["=olga()", "olga"]),
        ("since=2026-11-02", ["otto", "=olga()"]),
        ("until=2026-11-02", ["=olga()", "olga"]),
        ("since=2026-11-02&until=2026-11-02", ["=olga()"]),
        ("since=soon&before=x&allowed=maybe", ["otto", "=olga()", "olga"]),
        ("until=9999-12-31", ["otto", "=olga()", "olga"]),
        ("actor=%00", ["otto", "=olga()", "olga"]),
    ],
)
def test_the_audit_log_is_read_by_filters_in_its_address(
    entries: None, query: str, actors: list[str]
) -> None:
    client = signed_in(person("viewer"))
    page = client.get(f"/console/audit/?{query}")
    assert [one.actor for one in page.context["entries"]] == actors
    lines = b"".join(client.get(f"/console/audit.csv?{query}").streaming_content).decode().splitlines()
    assert len(lines) == 1 + len(actors)


def test_what_an_act_changed_is_shown_field_by_field(entries: None) -> None:
    page = signed_in(person("viewer")).get("/console/audit/?act=edit")
    (entry,) = page.context["entries"]
    assert [(one.field, one.before, one.after) for one in entry.changes] == [("b.c", "x", "y")]
    assert "<del>x</del>" in page.content.decode()


def test_pages_of_the_audit_log_follow_one_another() -> None:
    AuditEntry.objects.bulk_create(AuditEntry(actor="olga", act=f"act {n}") for n in range(120))
    client, seen, address = signed_in(person("viewer")), [], "/console/audit/?actor=olga"
    for _ in range(3):
        page = client.get(address)
        seen += [one.act for one in page.context["entries"]]
        address = f"/console/audit/?{page.context['after']}"
    assert seen == [f"act {n}" for n in reversed(range(120))]
    assert page.context["after"] == ""


def test_a_spreadsheet_runs_nothing_of_it(entries: None) -> None:
    client = signed_in(person("viewer"))
    text = b"".join(client.get("/console/audit.csv").streaming_content).decode()
    assert ",'=olga()," in text
    cells = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "1=1", "", None]
    line = list(csv_lines(["name"], [cells]))[1]
    assert line == "'=1+1,'+1,'-1,'@x,'\tx,\"'\rx\",1=1,,\r\n"
