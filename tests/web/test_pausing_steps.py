"""A paused step, as operators and clients see it: on the page of pauses, in lists, on the overview, and over REST."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from orders.models import AgentInstance, Circuit, OrderProcess, StepPause
from orders.vocabulary import TokenScope
from tests.store.test_metrics import collect
from tests.support.factories import ago, ahead, make_order, make_purchase
from tests.support.people import api_client, person, token_of
from tests.web.conftest import Desk
from tests.web.console_orders import BEFORE_SHIPMENT, an_order
from tests.web.helpers import assert_problem

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]
PAGE = "/console/pauses/"
STEP = f"{PAGE}steps/fulfil-order/create-shipment/"
API = "/api/v1/workflows/fulfil-order/steps/create-shipment"


def held() -> OrderProcess:
    """An order of the shop that waits at the paused step."""
    steps = {"create-shipment": {"paused_since": ago(90)}}
    return an_order(steps, process_state="pending", not_before=ahead(9_000))


def under_way() -> OrderProcess:
    """An order of the shop that waits for the carrier."""
    steps = {**BEFORE_SHIPMENT, "create-shipment": {"waiting_since": ago(90)}}
    return an_order(steps, process_state="pending")


def words(client: Client, url: str) -> str:
    return " ".join(client.get(url).content.decode().split())


def test_an_operator_pauses_a_step_on_the_page_and_resumes_it(desk: Desk) -> None:
    client, viewer = desk("operator"), desk("viewer")
    assert f'href="{STEP}pause/"' in words(client, PAGE)
    assert f'href="{STEP}pause/"' not in words(viewer, PAGE)
    client.post(f"{STEP}pause/", {"reason": "wrong labels", "minutes": "240"})
    pause = StepPause.objects.get()
    assert (pause.workflow, pause.step, pause.reason) == ("fulfil-order", "create-shipment", "wrong labels")
    assert pause.until is not None and 14_300 < (pause.until - pause.at).total_seconds() <= 14_400
    page = words(viewer, PAGE)
    assert "<strong>create-shipment</strong> of fulfil-order was paused by" in page
    assert "No order waits at it yet." in page and "resume/" not in page
    assert client.get(f"{STEP}pause/").url == PAGE  # type: ignore[attr-defined]
    client.post(f"{STEP}resume/")
    assert not StepPause.objects.exists()
    assert "No step is paused." in words(viewer, PAGE)


def test_the_form_says_what_is_paused_and_what_goes_on_and_keeps_what_was_typed(desk: Desk) -> None:
    client = desk("operator")
    page = words(client, f"{STEP}pause/")
    assert "No order of the workflow fulfil-order starts create-shipment while it is paused." in page
    assert "calls under way at carrier, and cancellations." in page
    assert "Every operator can resume it at any time" in page
    refused = client.post(f"{STEP}pause/", {"reason": "", "minutes": "10"})
    form = " ".join(refused.content.decode().split())
    assert refused.status_code == 422 and not StepPause.objects.exists()
    assert "Give a reason. It is kept in the audit log." in form and '<option value="10" selected>' in form
    assert client.get(STEP.replace("create", "make") + "pause/").status_code == 404


def test_the_form_is_linked_where_an_operator_sees_the_step(desk: Desk) -> None:
    order, client, viewer = under_way(), desk("operator"), desk("viewer")
    Circuit.objects.create(agent="carrier")
    link = f'href="{STEP}pause/"'
    for url in (f"/console/orders/{order.pk}/", "/console/agents/", "/console/workflow/"):
        assert link in words(client, url) and link not in words(viewer, url)
    assert f'href="{STEP.replace("create-shipment", "reserve-stock")}pause/"' not in words(
        client, f"/console/orders/{order.pk}/"
    )


def test_orders_that_wait_there_for_an_agent_that_is_down_are_counted_too(desk: Desk) -> None:
    client = desk("operator")
    AgentInstance.objects.create(instance="agents:1", agent="carrier", capacity=1)
    Circuit.objects.create(agent="carrier", state="open", opened_at=ago(60), probe_at=ahead(60))
    for _ in range(3):
        under_way()
    reversed_now = {"state": "compensating", "waiting_since": ago(9), "complete_by": None}
    an_order({"create-shipment": reversed_now}, process_state="pending")
    wait = "3 orders wait at it for carrier, which is down"
    assert f"{wait}." in words(client, f"{STEP}pause/")
    client.post(f"{STEP}pause/", {"reason": "wrong labels"})
    page = words(client, PAGE)
    assert f'?step=create-shipment&amp;waiting=carrier">{wait}</a>.' in page and "No order waits" not in page
    held()
    assert "1 order</a> waits there because of the pause." in words(client, PAGE)
    Circuit.objects.update(state="closed", opened_at=None, probe_at=None)
    assert "3 orders wait at it for a free place at carrier" in words(client, PAGE)
    Circuit.objects.update(paused=True, held_by="otto")
    assert "3 orders wait at it for carrier, which is paused" in words(client, PAGE)


def test_everybody_sees_how_many_orders_wait_and_what_they_are_worth(desk: Desk) -> None:
    client = desk("operator")
    order = held()
    held()
    StepPause.objects.create(
        workflow="fulfil-order", step="create-shipment", by="olga", reason="wrong labels"
    )
    overview = words(client, "/console/")
    assert "The step create-shipment of fulfil-order is paused, by olga." in overview
    assert "Reason: wrong labels." in overview and "2 orders wait there." in overview
    assert "at stake" in overview
    assert "2 orders</a> wait there" in words(client, PAGE)
    assert "wrong labels" in words(client, "/console/handover/?hours=8")
    assert collect()["sasweb_step_paused_orders"] == {("create-shipment", "fulfil-order"): 2}
    orders = words(client, "/console/orders/?q=paused:create-shipment")
    assert "paused: create-shipment" in orders and str(order.pk) in orders
    assert str(order.pk) in words(client, "/console/orders/?q=standing:paused")
    assert str(order.pk) in words(client, "/console/orders/?q=step:create-shipment")
    assert str(order.pk) not in words(client, "/console/orders/?q=paused:capture-payment")
    assert "no step is called" in words(client, "/console/orders/?q=paused:create-shipmet")
    page = words(client, f"/console/orders/{order.pk}/")
    assert "An operator has paused create-shipment in all orders." in page


def test_a_program_does_the_same_and_reads_it() -> None:
    operator = api_client(token_of(person("operator", "olga"), TokenScope.OPERATE))
    held()
    assert operator.post(f"{API}/pause", {"reason": "wrong labels"}).json()["result"] == "done"
    assert operator.post(f"{API}/pause", {"reason": "again"}).json()["result"] == "already"
    (step,) = operator.get("/api/v1/pauses").json()["steps"]
    assert (step["workflow"], step["step"], step["by"], step["orders"]) == (
        "fulfil-order",
        "create-shipment",
        "olga",
        1,
    )
    (incident,) = [
        each for each in operator.get("/api/v1/incidents").json()["results"] if each["kind"] == "paused"
    ]
    assert incident["orders"] == 1
    text = operator.get("/api/v1/handover").json()["text"]
    assert "step create-shipment of fulfil-order: paused by olga" in text and "1 order waits there" in text
    assert operator.post(f"{API}/resume").json()["result"] == "done"
    assert operator.get("/api/v1/pauses").json()["steps"] == []
    assert_problem(operator.post(API.replace("create", "make") + "/pause", {"reason": "r"}), "not_found")
    viewer = api_client(token_of(person("viewer"), TokenScope.OPERATE))
    assert_problem(viewer.post(f"{API}/pause", {"reason": "r"}), "permission_denied")


def test_its_client_reads_that_an_operator_has_to_act() -> None:
    ada = person("customer", "ada")
    order = make_order({"mix": {"paused_since": ago(90)}}, process_state="pending", customer_id=ada.pk)
    make_purchase(order.pk, customer=User.objects.get(pk=ada.pk))
    client = api_client(token_of(ada, TokenScope.READ))
    body = client.get(f"/api/v1/orders/{order.pk}").json()
    assert body["waiting_for"] == "operator" and body["waiting_until"] is None
    orders = client.get("/api/v1/orders?waiting_for=operator").json()["results"]
    assert [each["id"] for each in orders] == [str(order.pk)]
