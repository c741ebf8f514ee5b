"""A problem says what to do: what to send, whom to ask, and what there is instead of what there is not."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from orders.models import Circuit, IntakePause, StepPause
from tests.services.test_corrections import sold_out
from tests.support.factories import ago, make_order
from tests.support.people import api_client, person, token_of
from tests.support.roles import stored
from tests.web.helpers import assert_problem, mistakes
from tests.web.test_corrections_api import correct, hers

API = "/api/v1"
pytestmark = pytest.mark.django_db


def detail_of(response: Any, code: str) -> str:
    detail: str = assert_problem(response, code)["detail"]
    return detail


def test_a_cancellation_that_is_not_confirmed_names_the_member_that_confirms_it(operator: APIClient) -> None:
    order = make_order()
    for body in ({"reason": "burnt"}, {"reason": "burnt", "confirm": "yes"}):
        assert detail_of(operator.post(f"{API}/orders/{order.pk}/compensate", body), "act_refused") == (
            "`confirm` is missing or wrong. Send in it the order’s total in plain figures, such as `39.00`, if money "
            "goes back to the customer, otherwise the word `cancel`."
        )
    assert stored(order).goal == "complete"


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("bulk-actions/preview", {"kind": "x", "filter": {"state": "error"}}, "/kind"),
        ("bulk-actions/preview", {"kind": "resubmit", "filter": {"state": "x"}}, "/filter/state"),
        ("bulk-actions/preview", {"kind": "resubmit", "filter": {"standing": "x"}}, "/filter/standing"),
        ("webhooks", {"url": "https://hooks.example/", "kinds": ["x"]}, "/kinds/0"),
    ],
)
def test_a_word_that_is_none_of_a_few_is_answered_with_those(
    operator: APIClient, path: str, body: dict[str, Any], pointer: str
) -> None:
    (error,) = assert_problem(operator.post(f"{API}/{path}", body), "validation_failed")["errors"]
    assert error["pointer"] == pointer
    assert error["detail"].startswith("This must be one of ")


def test_a_field_that_cannot_be_corrected_leads_to_those_that_can(ada: APIClient) -> None:
    order = hers(ada, sold_out())
    (error,) = assert_problem(correct(ada, order, email="ada@example.org"), "validation_failed")["errors"]
    assert error == {
        "pointer": "/changes/email",
        "detail": "This cannot be changed now. `correctable` of the order says what can.",
    }


def test_who_may_not_and_who_is_unknown_are_told_whom_to_ask(ada: APIClient, anybody: APIClient) -> None:
    assert detail_of(ada.get(f"{API}/alerts"), "permission_denied") == (
        "The token's account may not do this. Use a token of an account that may, or ask an admin to give this one the "
        "access level that it needs: viewer to read what operators read, operator to act, admin for the rest."
    )
    anybody.credentials(HTTP_AUTHORIZATION="Token sas_none")
    assert detail_of(anybody.get(f"{API}/orders"), "invalid_token").endswith(
        "Create a new one with `manage.py token`, or ask an admin for it."
    )


def test_an_agent_or_a_step_that_there_is_not_is_answered_with_those_that_there_are(
    operator: APIClient,
) -> None:
    Circuit.objects.bulk_create(Circuit(agent=name) for name in ("oven", "kitchen"))
    order = make_order()
    why = {"reason": "why"}
    assert detail_of(operator.post(f"{API}/agents/nope/pause", why), "not_found") == (
        "There is no agent “nope”; the agents are kitchen, oven."
    )
    edit = operator.post(f"{API}/orders/{order.pk}/steps/nope/edit", {"changes": {}})
    assert (
        detail_of(edit, "not_found")
        == "The order has no step “nope”; the steps are mix, heat-oven, bake, decorate, box, deliver, tell."
    )
    pause = operator.post(f"{API}/workflows/fulfil-order/steps/nope/pause", why)
    assert detail_of(pause, "not_found").startswith(
        "The workflow fulfil-order has no step “nope”; the steps are reserve-stock, authorise-payment, "
    )
    pause = operator.post(f"{API}/workflows/nope/steps/cook/pause", why)
    assert detail_of(pause, "not_found") == "There is no workflow “nope”; the workflows are fulfil-order."
    skip = operator.post(f"{API}/steps/{10**18}/skip", why)
    assert detail_of(skip, "not_found").startswith("There is no step with this ID. ")


def test_a_pause_that_is_to_end_in_the_past_is_a_mistake_at_its_time(operator: APIClient) -> None:
    order, admin = make_order(), api_client(token_of(person("admin", "ann")))
    body = {"reason": "why", "until": ago(1).isoformat()}
    for path in (f"orders/{order.pk}/pause", "workflows/fulfil-order/steps/create-shipment/pause"):
        response = operator.post(f"{API}/{path}", body)
        assert mistakes(response) == ["/until"]
        assert response.json()["errors"][0]["detail"] == "The pause must end later than now."
    assert mistakes(admin.post(f"{API}/intake/pause", body)) == ["/until"]
    asked_for = operator.post(f"{API}/approvals", {"act": "pause_intake", "body": body})
    assert mistakes(asked_for) == ["/body/until"]
    assert not IntakePause.objects.exists()
    assert not StepPause.objects.exists()
    assert stored(order).paused_at is None
