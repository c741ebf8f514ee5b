"""The audit log over REST: its filters, and pages that end after a bounded number of entries."""

from datetime import UTC, datetime, timedelta
from itertools import chain

import pytest
from rest_framework.test import APIClient

from orders.models import AuditEntry
from orders.selectors.desk import audit
from orders.vocabulary import TokenScope
from tests.support.factories import ago
from tests.support.people import api_client, person, signed_in, token_of
from tests.web.helpers import mistakes

pytestmark = pytest.mark.django_db

API = "/api/v1"


@pytest.fixture
def viewer() -> APIClient:
    return api_client(token_of(person("viewer")))


@pytest.fixture
def entries() -> list[AuditEntry]:
    rows = [
        AuditEntry(actor="olga", act="pause-agent", target="agent kitchen", reason="it burns"),
        AuditEntry(
            actor="Olga B", act="edit", target="order 1", before={"a": 1, "b": {"c": "x"}}, after={"a": 1}
        ),
        AuditEntry(actor="otto", act="compensate", target="order 2", allowed=False, result="needs more"),
    ]
    for row, day in zip(rows, (1, 2, 3), strict=True):
        row.at = datetime(2026, 11, day, 12, tzinfo=UTC)
        row.save()
    return rows


@pytest.mark.parametrize(
    ("query", "actors"),
    [
        ("", ["otto", "Olga B", "olga"]),
        ("actor=OLGA", ["Olga B", "olga"]),
        ("act=edit", ["Olga B"]),
        ("target=order", ["otto", "Olga B"]),
        ("allowed=false", ["otto"]),
        ("allowed=true&actor=o", ["Olga B", "olga"]),
        ("since=2026-11-02T12:00Z", ["otto", "Olga B"]),
        ("until=2026-11-02T12:00Z", ["olga"]),
        ("since=2026-11-02T00:00Z&until=2026-11-03T00:00Z", ["Olga B"]),
        ("until=9999-12-31T23:59:59Z", ["otto", "Olga B", "olga"]),
        ("since=0001-01-01T00:00:00Z", ["otto", "Olga B", "olga"]),
        ("until=0001-01-01T00:00:00Z", []),
        (f"cursor={10**18 - 1}", ["otto", "Olga B", "olga"]),
        ("cursor=0", []),
    ],
)
def test_the_audit_log_has_the_consoles_filters(
    query: str, actors: list[str], viewer: APIClient, entries: list[AuditEntry]
) -> None:
    shown = viewer.get(f"{API}/audit?{query}").json()
    assert [entry["actor"] for entry in shown["results"]] == actors
    assert shown["next"] is None


def test_an_entry_says_what_an_act_changed(viewer: APIClient, entries: list[AuditEntry]) -> None:
    (entry,) = viewer.get(f"{API}/audit?act=edit").json()["results"]
    assert entry == {
        "id": entries[1].pk,
        "at": "2026-11-02T12:00:00Z",
        "actor": "Olga B",
        "ip_address": "",
        "act": "edit",
        "target": "order 1",
        "allowed": True,
        "result": "",
        "reason": "",
        "changes": [{"field": "b.c", "before": "x", "after": None}],
    }
    assert sorted(mistakes(viewer.get(f"{API}/audit?since=soon&allowed=maybe&who=me"))) == [
        "allowed",
        "since",
        "who",
    ]


@pytest.mark.parametrize("act", ["pause agent", "pause-agent"])
def test_an_act_is_named_and_found_in_words_however_an_earlier_release_has_stored_it(
    viewer: APIClient, entries: list[AuditEntry], act: str
) -> None:
    newer = AuditEntry.objects.create(actor="otto", act="pause agent", target="agent oven")
    shown = viewer.get(f"{API}/audit", {"act": act}).json()["results"]
    assert [(entry["id"], entry["act"]) for entry in shown] == [
        *((newer.pk, "pause agent"), (entries[0].pk, "pause agent")),
    ]
    console = signed_in(person("viewer", "vera")).get("/console/audit/", {"act": act})
    assert [entry.act for entry in console.context["entries"]] == ["pause agent"] * 2
    assert console.text.count(">pause agent</option>") == 1
    table = b"".join(signed_in(person("viewer", "pia")).get("/console/audit.csv").streaming_content).decode()
    assert table.count("pause agent") == 2 and "pause-agent" not in table


def test_a_list_of_words_is_shown_as_words(viewer: APIClient) -> None:
    scopes = [TokenScope.READ, TokenScope.ORDERS]
    AuditEntry.objects.create(actor="olga", act="token create", after={"scopes": scopes, "waves": [1, 10]})
    (entry,) = viewer.get(f"{API}/audit").json()["results"]
    changed = {change["field"]: change["after"] for change in entry["changes"]}
    assert changed == {"scopes": "read, orders", "waves": "[1, 10]"}


def test_pages_of_rare_entries_look_at_few_and_go_on_until_all_are_found(
    viewer: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "EXAMINED", 5)
    began = ago(90_000)
    for number in range(23):
        rare = number in (1, 2, 20)
        AuditEntry.objects.create(
            actor="otto" if rare else "olga",
            act="note",
            at=began + timedelta(hours=number),
            result=str(number),
        )

    def pages(query: str) -> list[list[str]]:
        url, results = f"{API}/audit?{query}", []
        while url:
            page = viewer.get(url).json()
            results.append([entry["result"] for entry in page["results"]])
            url = page["next"]
        return results

    assert pages("actor=otto") == [["20"], [], [], [], ["2", "1"]]
    assert pages("actor=otto&page_size=1")[-2:] == [["2"], ["1"]]
    assert list(chain(*pages("page_size=4"))) == [str(number) for number in range(22, -1, -1)]
    since = (began + timedelta(hours=15)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert pages(f"actor=otto&since={since}") == [["20"], []]
    until = (began + timedelta(hours=4)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert pages(f"actor=otto&until={until}") == [["2", "1"]]


def test_an_entry_whose_act_took_long_is_not_missed(
    viewer: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written after others that began later."""
    monkeypatch.setattr(audit, "EXAMINED", 1)
    moment = datetime(2026, 11, 2, 12, tzinfo=UTC)
    for minutes, actor in ((30, "olga"), (0, "otto"), (40, "olga"), (90, "olga")):
        AuditEntry.objects.create(actor=actor, act="note", at=moment + timedelta(minutes=minutes))
    url, actors = f"{API}/audit?until=2026-11-02T12:10Z&since=2026-11-02T11:50Z", []
    while url:
        page = viewer.get(url).json()
        actors += [entry["actor"] for entry in page["results"]]
        url = page["next"]
    assert actors == ["otto"]
