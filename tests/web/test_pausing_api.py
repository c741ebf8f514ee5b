"""The operators' REST API: an order is paused and resumed."""

import pytest

from orders.models import AuditEntry
from orders.vocabulary import TokenScope
from tests.support.factories import ago, ahead, make_order
from tests.support.people import api_client, person, token_of
from tests.support.roles import history, stored
from tests.web.helpers import assert_problem, mistakes

pytestmark = pytest.mark.django_db


def test_an_operator_pauses_and_resumes_an_order() -> None:
    operator = api_client(token_of(person("operator"), TokenScope.OPERATE))
    order = make_order(process_state="pending")
    url = f"/api/v1/orders/{order.pk}"
    until = ahead(3_600)
    answer = operator.post(f"{url}/pause", {"reason": "wrong address", "until": until.isoformat()})
    assert answer.status_code == 200 and answer.json()["result"] == "done"
    assert stored(order).paused_until == until
    assert operator.post(f"{url}/pause", {"reason": "again"}).json()["result"] == "already"
    assert operator.post(f"{url}/resume").json()["result"] == "done"
    assert operator.post(f"{url}/resume").json()["result"] == "already"
    assert history(order) == [("paused", ""), ("resumed", "")]
    assert set(AuditEntry.objects.values_list("act", flat=True)) == {"pause", "resume"}


def test_a_pause_needs_a_reason_and_an_end_that_is_to_come() -> None:
    operator = api_client(token_of(person("operator"), TokenScope.OPERATE))
    url = f"/api/v1/orders/{make_order(process_state='pending').pk}/pause"
    assert_problem(operator.post(url, {}), "validation_failed")
    past = {"reason": "r", "until": ago(60).isoformat()}
    assert mistakes(operator.post(url, past)) == ["/until"]
