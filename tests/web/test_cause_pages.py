"""The pages of a cause: its owner, snooze, ticket, runbook and history, and the same in the API."""

import pytest
from django.test import Client
from rest_framework.test import APIClient

from orders.models import AuditEntry, OwnRunbook
from tests.support.desk import failed_orders, group_of
from tests.support.factories import ago, ahead
from tests.support.people import api_client, person, signed_in, token_of
from tests.web.helpers import assert_problem
from tests.web.test_console_alerts import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]


@pytest.fixture
def olga(db: None) -> Client:
    return signed_in(person("operator", "olga"))


@pytest.fixture
def otto(db: None) -> APIClient:
    return api_client(token_of(person("operator", "otto")))


def test_a_cause_is_taken_and_the_second_person_reads_who_was_faster(olga: Client, otto: APIClient) -> None:
    failed_orders(2)
    number = group_of().pk
    assert "Take it" in text_of(olga.get(f"/console/alerts/{number}/"))
    text = text_of(olga.post(f"/console/alerts/{number}/take/", follow=True))
    assert "It now belongs to olga, who has also acknowledged it." in text and "Hand over" in text
    problem = otto.post(f"/api/v1/alerts/groups/{number}/take")
    assert_problem(problem, "act_refused")
    assert problem.json()["detail"].startswith("Given to olga ")
    assert [
        len(otto.get(f"/api/v1/alerts/groups?owner={name}").json()["results"]) for name in ("olga", "")
    ] == [1, 0]
    assert "Mine 1" in text_of(olga.get("/console/alerts/?show=mine"))
    assert "Every open cause has an owner." in text_of(olga.get("/console/alerts/?show=nobodys"))
    answer = otto.post(
        f"/api/v1/alerts/groups/{number}/assign", {"owner": "otto", "expected": "olga"}, format="json"
    )
    message = "It now belongs to otto, who has also acknowledged it."
    assert answer.json() == {"result": "done", "message": message}
    late = olga.post(f"/console/alerts/{number}/assign/", {"owner": "", "expected": "olga"}, follow=True)
    assert "Given to otto" in text_of(late) and group_of().owner_name == "otto"


def test_a_snooze_is_chosen_in_hours_or_growth_and_says_until_when(olga: Client, otto: APIClient) -> None:
    failed_orders(2)
    number = group_of().pk
    both = {"hours": "4", "until": f"{ahead(7_200):%Y-%m-%dT%H:%M}"}
    assert "not both" in text_of(olga.post(f"/console/alerts/{number}/snooze/", both, follow=True))
    text = text_of(
        olga.post(f"/console/alerts/{number}/snooze/", {"hours": "4", "doubles": "on"}, follow=True)
    )
    assert "or as soon as 4 orders are open. Until then no messages are sent about it." in text
    assert "The open causes are snoozed, and come back by themselves." in text_of(
        olga.get("/console/alerts/")
    )
    assert "or at 4 open" in text_of(olga.get("/console/alerts/?show=snoozed"))
    snooze = otto.get(f"/api/v1/alerts/groups/{number}").json()["snooze"]
    assert (snooze["by"], snooze["most"]) == ("olga", 4)
    path = f"/api/v1/alerts/groups/{number}"
    assert (
        otto.post(f"{path}/snooze", {"until": ahead(60).isoformat()}, format="json").json()["result"]
        == "already"
    )
    assert otto.post(f"{path}/snooze", {"doubles": "yes"}, format="json").status_code == 400
    assert otto.post(f"{path}/wake").json()["result"] == "done"
    assert otto.get(path).json()["snooze"] is None


def test_a_ticket_is_a_link_without_a_referrer(olga: Client, otto: APIClient) -> None:
    failed_orders(1)
    number = group_of().pk
    refused = olga.post(f"/console/alerts/{number}/ticket/", {"url": "javascript:alert(1)"}, follow=True)
    assert "This must be an https:// url" in text_of(refused)
    url = "https://t.example/1?a=b"
    assert (
        otto.post(f"/api/v1/alerts/groups/{number}/ticket", {"url": url}, format="json").json()["result"]
        == "done"
    )
    page = olga.get(f"/console/alerts/{number}/").content.decode()
    assert f'href="{url}"' in page and 'rel="noopener noreferrer"' in page


def test_a_code_is_explained_on_the_page_of_the_cause_and_of_the_order_beside_the_own_text(
    otto: APIClient,
) -> None:
    (order_id,) = failed_orders(1, code="key_expired")
    number = group_of("key_expired").pk
    admin = signed_in(person("admin"))
    url = f"/console/alerts/{number}/runbook/"
    admin.post(url, {"text": "Ask the night desk.\nThey know.", "expected": ""})
    late = admin.post(url, {"text": "Something else", "expected": ""}, follow=True)
    assert "admin has changed the text meanwhile." in text_of(late)
    own = OwnRunbook.objects.get()
    assert (own.code, own.text, own.by) == ("key_expired", "Ask the night desk.\nThey know.", "admin")
    viewer = signed_in(person("viewer"))
    for page in (f"/console/alerts/{number}/", f"/console/orders/{order_id}/"):
        text = text_of(viewer.get(page))
        assert "the service may have forgotten its key by now" in text and "Ask the night desk." in text, page
    body = otto.get(f"/api/v1/alerts/groups/{number}").json()
    assert body["runbook"]["todo"].startswith("Look the order up at the service")
    assert body["runbook"]["advises"] == "settle"
    assert body["own_runbook"]["by"] == "admin"
    assert_problem(
        otto.post(f"/api/v1/alerts/groups/{number}/runbook", {"text": ""}, format="json"), "permission_denied"
    )
    admin.post(url, {"text": "", "expected": own.text})
    assert not OwnRunbook.objects.exists()
    assert (
        list(AuditEntry.objects.filter(act="write runbook", allowed=True).values_list("actor", flat=True))
        == ["admin"] * 2
    )


def test_the_history_is_listed_with_a_range_in_its_url(olga: Client, otto: APIClient) -> None:
    failed_orders(1, message="open now")
    assert "open now" in text_of(olga.get("/console/alerts/history/"))
    past = f"since={ago(7_200):%Y-%m-%dT%H:%M}&until={ago(3_600):%Y-%m-%dT%H:%M}"
    assert "No cause was open in this range." in text_of(olga.get(f"/console/alerts/history/?{past}"))
    (time,) = otto.get("/api/v1/alerts/history").json()["results"]
    assert (time["pattern"], time["orders"], time["ended_at"]) == ("open now", 1, None)
    olga.post(f"/console/alerts/{group_of().pk}/note/", {"text": "I called them."})
    ((entry,),) = [
        each["acts"] for each in otto.get(f"/api/v1/alerts/groups/{group_of().pk}/history").json()["results"]
    ]
    assert (entry["act"], entry["actor"]) == ("note", "olga")
    assert "I called them." in text_of(olga.get(f"/console/alerts/{group_of().pk}/history/"))
    assert "It was not open before" in text_of(olga.get(f"/console/alerts/{group_of().pk}/"))


@pytest.mark.parametrize(
    ("query", "actors"),
    [
        ("since=2026-11-02T12:00", ["anna"]),
        ("until=2026-11-02T12:00", ["bert", "carla"]),
        ("until=2026-11-02", ["anna", "bert", "carla"]),
        ("since=2026-11-02T11:59&until=2026-11-02T12:01&kind=order", ["anna"]),
        ("kind=account", ["carla"]),
        ("kind=group", ["bert"]),
    ],
)
def test_the_audit_log_is_filtered_by_the_minute_and_by_kind_and_its_file_follows(
    olga: Client, query: str, actors: list[str]
) -> None:
    order = "0190f8a4-0000-7000-8000-000000000001"
    for at, actor, target in (
        ("11:00", "carla", "olga"),
        ("11:59", "bert", "group 7"),
        ("12:00", "anna", f"order {order}"),
    ):
        AuditEntry.objects.create(at=f"2026-11-02T{at}Z", actor=actor, act="note", target=target)
    page = olga.get(f"/console/audit/?{query}").content.decode()
    assert [name for name in ("anna", "bert", "carla") if f">{name}</span>" in page] == actors
    file = b"".join(olga.get(f"/console/audit.csv?{query}")).decode()  # type: ignore[arg-type]
    assert [name for name in ("anna", "bert", "carla") if f",{name}," in file] == actors
    links = {
        "anna": f"/console/orders/{order}/",
        "bert": "/console/alerts/7/",
        "carla": "/console/audit/?target=olga",
    }
    assert all(f'href="{links[name]}"' in page for name in actors)
