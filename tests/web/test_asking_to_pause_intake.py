"""An operator asks an admin to stop new orders, in the console and over REST, and one who approves does it."""

from datetime import timedelta
from typing import Any

import pytest

from orders.business.intake_pause import forget_pause
from orders.models import ApprovalRequest, AuditEntry, IntakePause
from orders.services.act_results import ResultStatus
from orders.services.audit import Actor
from orders.services.operators import approvals
from orders.services.operators.approval_acts import pause_parameters
from orders.services.operators.pausing_intake import pause_intake
from orders.vocabulary import ApprovalAct, TokenScope
from tests.support.desk import OLGA
from tests.support.factories import ago, ahead
from tests.support.people import api_client, person, signed_in, token_of
from tests.web.helpers import mistakes
from tests.web.test_console_alerts import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]
PAGE = "/console/pauses/"
ASK = f"{PAGE}intake/pause/ask/"
BOB, ANN = Actor(name="bob"), Actor(name="ann")


@pytest.fixture(autouse=True)
def fresh() -> Any:
    """Has this process look at the database, before and after a test."""
    forget_pause()
    yield
    forget_pause()


def ask(**lasts: Any) -> approvals.Asking:
    return approvals.ask(
        act=ApprovalAct.PAUSE_INTAKE, parameters=pause_parameters(**lasts), actor=BOB, reason="a wrong price"
    )


def test_the_page_offers_an_operator_to_ask_and_an_admin_approves_it_there() -> None:
    bob, ann = signed_in(person("operator", "bob")), signed_in(person("admin", "ann"))
    form = text_of(bob.get(PAGE))
    assert "Ask for approval" in form and "The pause begins when one approves it." in form
    assert ASK not in ann.get(PAGE).content.decode()
    page = text_of(bob.post(ASK, {"minutes": "60", "reason": "a wrong price"}, follow=True))
    assert "Asked for approval as request" in page and "Stop new orders for 1 hour" in page
    assert not IntakePause.objects.exists()
    request = ApprovalRequest.objects.get()
    approve = f"/console/approvals/{request.pk}/approve/"
    assert approve in ann.get(PAGE).content.decode()
    before = ahead(3_600)
    assert "Approved." in text_of(ann.post(approve, follow=True))
    pause = IntakePause.objects.get()
    assert (pause.by, pause.reason) == ("ann", f"a wrong price (asked for by bob, request {request.pk})")
    assert pause.until is not None and before <= pause.until <= before + timedelta(minutes=1)
    assert "An admin can accept them again." in text_of(bob.get(PAGE))


def test_a_form_that_is_refused_keeps_what_was_typed_and_says_at_the_field_what_is_wrong() -> None:
    for client, at in (
        (signed_in(person("operator", "bob")), ASK),
        (signed_in(person("admin", "ann")), f"{PAGE}intake/pause/"),
    ):
        page = client.post(at, {"minutes": "240", "reason": ""}, follow=True).content.decode()
        assert "Give a reason. It is kept in the audit log." in page
        assert '<option value="240" selected>' in page and page.count("<details") == page.count("</details>")
        assert page.count('class="fold" open') == 1
    assert not ApprovalRequest.objects.exists() and not IntakePause.objects.exists()


def test_a_request_that_has_been_overtaken_lapses_and_says_why() -> None:
    request = ask(minutes=10).request
    assert request is not None
    pause_intake(actor=OLGA, reason="stock-taking")
    result = approvals.approve(request_id=request.pk, actor=ANN)
    assert result.status is ResultStatus.REFUSED
    assert result.message == (
        "This can no longer be done, so nothing was changed. The intake is already paused."
    )
    request.refresh_from_db()
    assert request.state == "lapsed" and IntakePause.objects.get().reason == "stock-taking"
    answer = ask(minutes=10)
    assert (answer.request, answer.result.message) == (None, "The intake is already paused.")


def test_a_second_request_is_refused_while_one_waits_however_long_it_would_last() -> None:
    assert ask(minutes=10).request is not None
    assert ask(minutes=10).result.status is ResultStatus.ALREADY
    second = ask()
    assert second.request is None and second.result.status is ResultStatus.REFUSED
    assert "Stop new orders for 10 minutes." in second.result.message
    assert ApprovalRequest.objects.count() == 1


def test_a_program_asks_with_the_body_of_the_act() -> None:
    bob = api_client(token_of(person("operator", "bob"), TokenScope.OPERATE))
    until = ahead(3_600).replace(microsecond=0)
    body = {"act": "pause_intake", "body": {"reason": "a wrong price", "until": until.isoformat()}}
    answer = bob.post("/api/v1/approvals", body)
    assert answer.status_code == 202, answer.content
    assert answer.json()["summary"] == f"Stop new orders until {until:%H:%M} UTC on {until.day} {until:%B}"
    approvals.approve(request_id=answer.json()["id"], actor=ANN)
    assert IntakePause.objects.get().until == until
    past = {"act": "pause_intake", "body": {"reason": "r", "until": ago(60).isoformat()}}
    assert mistakes(bob.post("/api/v1/approvals", past)) == ["/body/until"]
    assert AuditEntry.objects.filter(
        act="ask for approval", target="intake of orders", allowed=False
    ).exists()


def test_the_note_of_an_answer_that_is_refused_is_kept_at_its_request() -> None:
    request = ask(minutes=10).request
    assert request is not None
    ann = signed_in(person("admin", "ann"))
    answer = ann.post(f"/console/approvals/{request.pk}/decline/", {"note": "n" * 201}, follow=True)
    assert answer.redirect_chain[0][0] == f"/console/approvals/#approval-{request.pk}"
    page = answer.content.decode()
    assert f'value="{"n" * 201}"' in page and "Shorten the note to 200 characters." in text_of(answer)
    request.refresh_from_db()
    assert request.state == "waiting"
