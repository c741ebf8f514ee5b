"""Over REST, a result that lacks what its step declares is refused at its place, and the right one is taken."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from orders.engine.callbacks import issue_token
from orders.models import AgentReply, AuditEntry
from tests.support.businesses import Oven, business
from tests.support.people import api_client, person, token_of
from tests.support.weighed_cakes import WHOLE, WeighedCakes, baked_cake, parked_cake

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("C6")]


@pytest.fixture(autouse=True)
def bakery(settings: Any) -> Iterator[None]:
    """The bakery, beside the shop."""
    with business(settings, kinds=[WeighedCakes], agents=[Oven()]):
        yield


# --- over REST


def test_a_callback_is_told_what_its_result_lacks_and_may_call_again() -> None:
    order = parked_cake()
    at = f"/callbacks/{issue_token(f'{order.pk}/mix/1')}"
    refused = Client().post(at, {"result": {"tin": "T7", "grams": ""}}, content_type="application/json")
    problem = json.loads(refused.content)
    assert (refused.status_code, problem["code"]) == (400, "validation_failed")
    assert problem["detail"] == "The result is incomplete: grams must be a number, layers is missing."
    assert problem["errors"] == [
        {"pointer": "/result/grams", "detail": "This must be a number."},
        {"pointer": "/result/layers", "detail": "This is missing."},
    ]
    assert not AgentReply.objects.exists()
    assert Client().post(at, {"result": WHOLE}, content_type="application/json").status_code == 204


def test_a_report_of_an_event_is_told_what_it_lacks_and_may_come_again() -> None:
    order = baked_cake()
    operator: APIClient = api_client(token_of(person("operator", "olga")))
    at = f"/api/v1/orders/{order.pk}/steps/weigh/event"
    refused = operator.post(at, {"result": {"gram": 900}}, format="json")
    assert (refused.status_code, refused.json()["code"]) == (400, "validation_failed")
    assert refused.json()["errors"] == [{"pointer": "/result/grams", "detail": "This is missing."}]
    assert not AgentReply.objects.exists()
    assert operator.post(at, {"result": {"grams": 900}}, format="json").status_code == 200
    acts = AuditEntry.objects.filter(act="report event").order_by("id").values_list("result", "allowed")
    assert list(acts) == [("The result is incomplete: grams is missing.", False), ("Reported weigh.", True)]
