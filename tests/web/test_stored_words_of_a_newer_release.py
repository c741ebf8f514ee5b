"""What only a newer release knows is shown as it is stored, and is not acted on as if it were something else."""

import pytest

from orders.api.webhook_representations import webhook
from orders.models import ApprovalRequest, OrderProcess, SubmissionMessage, WebhookEndpoint
from orders.selectors.order_waits import awaited
from orders.services.act_results import ResultStatus
from orders.services.audit import Actor
from orders.services.operators import approvals
from orders.vocabulary import WaitKind
from tests.support.factories import ago, ahead, make_order
from tests.support.people import api_client, person, signed_in, token_of
from tests.support.submissions import a_role, post

pytestmark = pytest.mark.django_db

NEWER = "newer_word"


def a_request() -> ApprovalRequest:
    return ApprovalRequest.objects.create(
        act=NEWER, target="order 1", summary="Do the new", digest="d", asked_by="bob", expires_at=ahead(60)
    )


def test_a_request_for_a_newer_act_is_listed_and_waits_for_a_release_that_knows_it() -> None:
    request, ann = a_request(), person("admin", "ann")
    assert "Do the new" in signed_in(ann).get("/console/approvals/").content.decode()
    (row,) = api_client(token_of(ann)).get("/api/v1/approvals").json()["results"]
    assert row["act"] == NEWER
    result = approvals.approve(request_id=request.pk, actor=Actor(name="ann"))
    assert result.status is ResultStatus.REFUSED and "newer release" in result.message
    assert ApprovalRequest.objects.get().state == "waiting"
    approvals.decline(request_id=request.pk, actor=Actor(name="ann"))
    assert ApprovalRequest.objects.get().state == "declined"


def test_a_step_that_waits_for_something_newer_waits_for_something_outside() -> None:
    order = make_order({"mix": {"state": "awaiting", "awaits": {"kind": NEWER}}}, not_before=ahead(9_000))
    page = signed_in(person("viewer")).get(f"/console/orders/{order.pk}/")
    assert page.status_code == 200
    assert awaited({"awaits": {"kind": NEWER}, "state": "awaiting", "awaits_until": None}) is WaitKind.EVENT


def test_a_webhook_that_is_disabled_for_a_newer_reason_says_it_as_it_is_stored() -> None:
    endpoint = WebhookEndpoint(
        url="https://a.example.com/", kinds=[], disabled_at=ago(0), disabled_reason="newer"
    )
    assert webhook(endpoint)["disabled_reason"] == "newer"


@pytest.mark.usefixtures("catalogue")
def test_a_submission_with_a_newer_goal_waits_for_a_release_that_knows_it_and_holds_up_no_other() -> None:
    newer = post()
    SubmissionMessage.objects.update(goal="newer")
    older = post()
    assert a_role().run_once().done == {"accepted": 1, "rejected": 0, "duplicates": 0}
    assert OrderProcess.objects.get().order_id == older
    assert SubmissionMessage.objects.get().order_id == newer
