"""An admin stops new orders: whoever wants to place one is told to come back, and what was accepted goes on."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from rest_framework.test import APIClient

from orders.business.intake_pause import KEPT, forget_pause, read_pause, seconds_to_wait
from orders.business.placing import IntakePausedError
from orders.models import AuditEntry, IntakePause, Order, SubmissionMessage
from orders.services.act_results import Result, ResultStatus
from orders.services.audit import Actor
from orders.services.operators.pausing_intake import pause_intake, resume_intake
from orders.shop.placing import place_order
from orders.vocabulary import TokenScope
from tests.store.test_metrics import collect
from tests.support.desk import OLGA
from tests.support.factories import ago, ahead, new_order
from tests.support.order_bodies import order_body
from tests.support.people import api_client, person, signed_in, token_of
from tests.support.two_sessions import all_at_once
from tests.web.helpers import ORDERS, assert_problem, run_submission
from tests.web.test_checkout import fill

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("catalogue"), pytest.mark.pattern("S1", "O1")]
PAGE = "/console/pauses/"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Has this process look at the database, before and after a test."""
    forget_pause()
    yield
    forget_pause()


def place(client: APIClient, body: dict[str, Any], key: str = "") -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post(ORDERS, body, headers=headers)


def pause(reason: str = "stock-taking", **values: Any) -> Result:
    result = pause_intake(actor=OLGA, reason=reason, **values)
    forget_pause()
    return result


def resume() -> Result:
    result = resume_intake(actor=OLGA)
    forget_pause()
    return result


def test_a_new_order_is_refused_over_rest_with_when_to_come_back(ada: APIClient) -> None:
    pause()
    answer = place(ada, order_body(), key="new")
    assert_problem(answer, "intake_paused")
    assert answer.status_code == 503 and 60 <= int(answer.headers["Retry-After"]) <= 90
    assert answer.json()["retryable"] is True
    assert_problem(place(ada, order_body()), "intake_paused")
    assert_problem(ada.post(f"{ORDERS}/quote", order_body()), "intake_paused")
    assert not SubmissionMessage.objects.exists()
    resume()
    assert place(ada, order_body(), key="new").status_code == 202


def test_an_order_that_was_accepted_goes_on_and_its_key_is_still_answered(ada: APIClient) -> None:
    accepted = place(ada, order_body(), key="old").json()["id"]
    pause()
    replay = place(ada, order_body(), key="old")
    assert (replay.status_code, replay.json()["id"]) == (202, accepted)
    assert replay.headers["Idempotent-Replayed"] == "true"
    assert_problem(place(ada, order_body(priority=7), key="old"), "idempotency_key_reused")
    run_submission()
    assert str(Order.objects.get().pk) == accepted


def test_of_a_batch_only_what_was_placed_before_is_answered_with_an_order(ada: APIClient) -> None:
    place(ada, order_body(), key="old")
    pause()
    items = [{"idempotency_key": key, "order": order_body()} for key in ("old", "new")]
    body = json.dumps({"orders": items})
    answer = ada.post(f"{ORDERS}/batch", body, content_type="application/json")
    old, new = answer.json()["results"]
    assert (old["status"], old["replayed"]) == (202, True)
    assert (new["status"], new["problem"]["code"]) == (503, "intake_paused")
    assert SubmissionMessage.objects.count() == 1


def test_a_customer_of_the_shop_keeps_her_cart_and_what_she_has_entered(client: Client) -> None:
    form = fill(client, name="Ada Lovelace")
    pause()
    assert "We are not taking orders at the moment." in client.get("/checkout/").content.decode()
    answer = client.post("/checkout/", form)
    page = answer.content.decode()
    assert answer.status_code == 503 and int(answer.headers["Retry-After"]) >= 60
    assert "We are not taking orders at the moment." in page and 'value="Ada Lovelace"' in page
    assert not SubmissionMessage.objects.exists()
    resume()
    assert "not taking orders" not in client.get("/checkout/").content.decode()
    assert client.post("/checkout/", form).status_code == 302
    assert SubmissionMessage.objects.count() == 1


def test_a_form_of_the_shop_that_is_sent_again_still_leads_to_its_order(client: Client) -> None:
    form = fill(client)
    first = client.post("/checkout/", form).headers["Location"]
    pause()
    assert client.post("/checkout/", form).headers["Location"].partition(".")[0] == first.partition(".")[0]


def test_an_import_is_refused_as_well(capsys: pytest.CaptureFixture[str]) -> None:
    pause()
    with pytest.raises(IntakePausedError):
        place_order(client="import", order=new_order("tidal-lines"))
    with pytest.raises(SystemExit, match="2"):
        call_command("start_order", "fulfil-order", data=json.dumps(order_body()), key="n1")
    assert "We are not taking orders at the moment" in capsys.readouterr().err
    assert not SubmissionMessage.objects.exists()


def test_a_process_heeds_a_pause_that_another_has_set_within_a_second(ada: APIClient) -> None:
    assert KEPT == 1
    assert place(ada, order_body(), key="first").status_code == 202  # reads that nothing is paused
    IntakePause.objects.create(by="ada", reason="stock-taking")
    assert place(ada, order_body(), key="known").status_code == 202
    forget_pause()  # as a second does
    assert_problem(place(ada, order_body(), key="read"), "intake_paused")


def test_a_pause_ends_by_itself_and_says_when_to_come_back() -> None:
    assert pause(until=ahead(3_600)).status is ResultStatus.DONE
    stored = IntakePause.objects.get()
    assert 300 <= seconds_to_wait(stored) <= 450
    assert 100 <= seconds_to_wait(stored, now=stored.until and stored.until - (ahead(100) - ahead(0))) <= 150
    IntakePause.objects.update(at=ago(60), until=ago(1))
    assert read_pause() is None
    assert resume().status is ResultStatus.ALREADY
    IntakePause.objects.create(at=ago(60), until=ago(1), by="ada", reason="past")
    assert pause("again").status is ResultStatus.DONE
    assert IntakePause.objects.get().reason == "again"


def test_a_pause_needs_a_reason_and_an_end_that_is_to_come() -> None:
    assert pause(" ").status is ResultStatus.REFUSED
    assert pause(until=ago(1)).status is ResultStatus.REFUSED
    assert not IntakePause.objects.exists()
    assert set(AuditEntry.objects.values_list("act", "target", "allowed")) == {
        ("pause intake", "intake of orders", False)
    }


@pytest.mark.django_db(transaction=True)
def test_of_two_admins_who_pause_at_the_same_moment_one_does() -> None:
    def work(number: int) -> ResultStatus:
        return pause_intake(actor=Actor(name=f"admin {number}"), reason="stock-taking").status

    statuses = all_at_once(2, work)
    assert sorted(status.value for status in statuses) == ["already", "done"]
    assert IntakePause.objects.get().by in ("admin 0", "admin 1")


def test_an_admin_does_it_on_the_page_and_everybody_at_the_desk_sees_it() -> None:
    admin, viewer = signed_in(person("admin", "ada")), signed_in(person("viewer"))
    assert "An admin can stop them; an operator can ask for it." in viewer.get(PAGE).content.decode()
    answer = admin.post(f"{PAGE}intake/pause/", {"reason": "stock-taking", "minutes": "240"}, follow=True)
    page = " ".join(answer.content.decode().split())
    assert (
        "Orders that were accepted continue." in page and "stock-taking" in page and "paused by ada" in page
    )
    assert "New orders are refused until " in page and "New orders were paused by ada" in page
    overview = " ".join(viewer.get("/console/").content.decode().split())
    assert "New orders are refused: ada has paused them." in overview
    assert "New orders</a> are refused" in viewer.get("/console/handover/?hours=8").content.decode()
    assert collect()["sasweb_intake_paused"] == {(): 1}
    assert 'action="/console/pauses/intake/resume/"' not in viewer.get(PAGE).content.decode()
    assert signed_in(person("operator")).post(f"{PAGE}intake/resume/").status_code == 403
    admin.post(f"{PAGE}intake/resume/")
    assert read_pause() is None and collect()["sasweb_intake_paused"] == {(): 0}
    assert "New orders are refused" not in viewer.get("/console/").content.decode()
    assert not admin.post(f"{PAGE}intake/pause/", {"reason": ""}, follow=True).context["pauses"].intake


def test_a_program_does_the_same_and_reads_it() -> None:
    admin = api_client(token_of(person("admin", "ada"), TokenScope.OPERATE))
    operator = api_client(token_of(person("operator"), TokenScope.OPERATE))
    assert_problem(operator.post("/api/v1/intake/pause", {"reason": "r"}), "permission_denied")
    until = ahead(3_600)
    answer = admin.post("/api/v1/intake/pause", {"reason": "stock-taking", "until": until.isoformat()})
    assert answer.json()["result"] == "done"
    body = operator.get("/api/v1/pauses").json()
    assert (body["intake"]["by"], body["intake"]["reason"]) == ("ada", "stock-taking")
    assert body["paused_orders"] == 0 and body["first_orders"] == []
    incident = operator.get("/api/v1/incidents").json()["results"][0]
    assert (incident["kind"], incident["links"][0]["page"]) == ("intake", "pauses")
    status = operator.get("/api/v1/status").json()
    assert (
        status["concerns"][0]["page"] == "pauses"
        and "New orders are refused" in status["concerns"][0]["message"]
    )
    handover = operator.get("/api/v1/handover").json()
    assert handover["pauses"]["intake"]["reason"] == "stock-taking"
    assert "new orders: refused by ada since" in handover["text"]
    assert admin.post("/api/v1/intake/resume").json()["result"] == "done"
    assert "intake" not in operator.get("/api/v1/pauses").json()
    acts = AuditEntry.objects.filter(allowed=True).order_by("id").values_list("act", "target", "reason")
    assert list(acts) == [
        ("pause intake", "intake of orders", "stock-taking"),
        ("resume intake", "intake of orders", ""),
    ]
