"""The console's audit log: what it records, that nothing can be removed, and how it is read."""

import pytest
from django.db import DatabaseError, connection, transaction

from orders.console.csv_export import csv_lines
from orders.models import AuditEntry, StepState
from orders.services.operators.order_acts import UNCONFIRMED
from tests.support.people import person, signed_in

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "sql", ["UPDATE orders_auditentry SET actor = 'nobody'", "DELETE FROM orders_auditentry"]
)
def test_the_audit_log_is_append_only(sql: str) -> None:
    AuditEntry.objects.create(actor="olga", act="resubmit")
    with (
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(sql)
    assert AuditEntry.objects.get().actor == "olga"


BODIES: dict[str, dict[str, str]] = {
    "order-resubmit": {},
    "order-retry": {},
    "order-priority": {"priority": "7"},
    "order-pause": {"reason": "r"},
    "order-resume": {},
    "order-note": {"text": "called her"},
    "order-compensate": {"reason": "r", "typed": "not this"},
    "step-decide": {"choice": "accept"},
    "step-decide-confirmed": {"reason": "r", "typed": "not this"},
    "step-skip": {"reason": "r", "typed": "not this"},
    "step-settle": {"how": "done", "reason": "r"},
    "set-aside-replay": {},
    "group-note": {"text": "seen"},
    "group-acknowledge": {},
    "group-unacknowledge": {},
    "pause-agent": {"reason": "r"},
    "limit-agent": {"rate": "2", "reason": "r"},
    "resume-agent": {},
    "force-circuit": {"state": "open", "seconds": "900", "reason": "r"},
    "unforce-circuit": {},
    "bulk-act": {},
}
"""Acts that leave an entry, with the form that is sent."""


def test_an_allowed_act_and_a_refused_attempt_are_recorded_under_the_same_name(
    places: dict[str, str],
) -> None:
    admin, viewer = signed_in(person("admin")), signed_in(person("viewer"))
    recorded: dict[str, set[tuple[str, str]]] = {"admin": set(), "viewer": set()}
    for name, body in BODIES.items():
        for level, client in (("admin", admin), ("viewer", viewer)):
            earlier = AuditEntry.objects.count()
            client.post(places[name], body)
            (entry,) = AuditEntry.objects.order_by("id")[earlier:]
            recorded[level].add((entry.act, entry.target))
    assert recorded["admin"] == recorded["viewer"]
    assert not [act for act, _ in recorded["admin"] if "-" in act]
    order_id = StepState.objects.values_list("process_id", flat=True)[0]
    assert {("skip", f"order {order_id}"), ("pause agent", "agent kitchen")} < recorded["viewer"]
    viewer.post(places["bulk-create"], {"do": "compensate"})
    assert AuditEntry.objects.latest("id").act == "bulk compensate"
    viewer.post(places["bulk-create"], data=b"no form", content_type="multipart/form-data; boundary=")
    assert AuditEntry.objects.latest("id").act == "bulk create"


def test_an_act_that_a_service_refused_is_recorded_as_refused(places: dict[str, str]) -> None:
    client = signed_in(person("admin"))
    client.post(places["order-compensate"], BODIES["order-compensate"])
    client.post(places["force-circuit"], BODIES["force-circuit"] | {"reason": " "})
    client.post(places["pause-agent"], BODIES["pause-agent"])
    recorded = AuditEntry.objects.order_by("id").values_list("act", "allowed", "result")
    assert list(recorded) == [
        ("compensate", False, UNCONFIRMED),
        ("force circuit", False, "Give a reason for forcing the circuit."),
        ("pause agent", True, "The agent kitchen is paused. Its steps wait until it is resumed."),
    ]


@pytest.fixture
def entries() -> None:
    rows = [
        AuditEntry(
            actor="olga", act="pause-agent", target="kitchen", result="kitchen is paused", reason="it burns"
        ),
        AuditEntry(
            actor="=olga()",
            act="edit",
            target="order 1",
            before={"a": 1, "b": {"c": "x"}},
            after={"a": 1, "b": {"c": "y"}},
        ),
        AuditEntry(
            actor="otto", act="compensate", target="order 2", allowed=False, result="needs orders.operate"
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
        ("before=x", ["otto", "=olga()", "olga"]),
        ("until=9999-12-31", ["otto", "=olga()", "olga"]),
    ],
)
def test_the_url_of_the_audit_log_holds_its_filters(entries: None, query: str, actors: list[str]) -> None:
    client = signed_in(person("viewer"))
    page = client.get(f"/console/audit/?{query}")
    assert [entry.actor for entry in page.context["entries"]] == actors
    lines = b"".join(client.get(f"/console/audit.csv?{query}").streaming_content).decode().splitlines()
    assert len(lines) == 1 + len(actors)


def test_the_changes_of_an_act_are_shown_field_by_field(entries: None) -> None:
    page = signed_in(person("viewer")).get("/console/audit/?act=edit")
    (entry,) = page.context["entries"]
    assert [(change.field, change.before, change.after) for change in entry.changes] == [("b.c", "x", "y")]
    assert "<del>x</del>" in page.content.decode()


def test_pages_of_the_audit_log_follow_one_another() -> None:
    AuditEntry.objects.bulk_create(AuditEntry(actor="olga", act=f"act {n}") for n in range(120))
    client, seen, address = signed_in(person("viewer")), [], "/console/audit/?actor=olga"
    for _ in range(3):
        page = client.get(address)
        seen += [entry.act for entry in page.context["entries"]]
        address = f"/console/audit/?{page.context['after']}"
    assert seen == [f"act {n}" for n in reversed(range(120))]
    assert page.context["after"] == ""


def test_the_exported_audit_log_is_safe_in_a_spreadsheet(entries: None) -> None:
    client = signed_in(person("viewer"))
    text = b"".join(client.get("/console/audit.csv").streaming_content).decode()
    assert ",'=olga()," in text
    cells = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "1=1", "", None]
    line = list(csv_lines(["name"], [cells]))[1]
    assert line == "'=1+1,'+1,'-1,'@x,'\tx,\"'\rx\",1=1,,\r\n"
