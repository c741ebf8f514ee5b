"""Steps that run for each item of a list, in the console and over REST: an item is acted on like any step."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from orders.business import Environment, Workflow
from orders.models import Order, OrderProcess, StepState
from orders.selectors.desk.workflows import graphs
from tests.support.businesses import Bakery, Oven, business
from tests.support.factories import LEGAL, ago, make_alert, make_order
from tests.support.roles import alerts_of, states, stored
from tests.web.conftest import Desk

pytestmark = pytest.mark.django_db

CAKES = Workflow(
    name="bake",
    version=1,
    steps=(
        replace(Bakery.step, name="mix", each=lambda order, _: [{"cake": cake} for cake in order["cakes"]]),
        replace(Bakery.step, name="serve", after=("mix",)),
    ),
)


class ManyCakes(Bakery):
    """Several cakes at once."""

    @classmethod
    def versions(cls, environment: Environment) -> Sequence[Workflow]:
        return [CAKES]


@pytest.fixture
def order(settings: Any) -> Iterator[OrderProcess]:
    """An order in Error: of its two cakes one is done, and the other failed."""
    with business(settings, kinds=[ManyCakes], agents=[Oven()]):
        joint = {"state": "awaiting", "complete_by": None, "awaits": {"kind": "items", "items": 2}}
        order = make_order({"mix": joint}, workflow=CAKES, process_state="error", started_at=ago(9))
        Order.objects.create(
            id=order.order_id, title="two cakes", placed_at=ago(10), data={"cakes": ["a", "b"]}
        )
        for number, state in enumerate(("completed", "failed"), 1):
            cake = {"position": 0, "agent": "oven", "request": {"cake": "rye"}, "outcome": "refused"}
            StepState.objects.create(
                process=order, name=f"mix:{number}", **(cake | LEGAL[state]), state=state
            )
        make_alert(order.order_id, step="mix:2", agent="oven")
        yield order


def test_the_page_of_an_order_shows_its_items_and_leads_to_their_acts(
    desk: Desk, order: OrderProcess
) -> None:
    page = desk("operator").get(f"/console/orders/{order.pk}/").content.decode()
    assert page.rindex("mix:1") < page.rindex("mix:2")
    assert f"/console/orders/{order.pk}/steps/mix:2/edit/" in page
    assert f"/console/orders/{order.pk}/steps/mix/skip/" not in page


def test_an_item_is_edited_with_the_fields_of_its_step(desk: Desk, order: OrderProcess) -> None:
    client, at = desk("operator"), f"/console/orders/{order.pk}/steps/mix:2/edit/"
    seen = client.post(at, {"cake": "plum"}).context["seen"]
    client.post(at, {"cake": "plum", "confirm": "1", "reason": "no rye", "seen": seen})
    requests = StepState.objects.filter(process=order).order_by("id").values_list("name", "request__cake")
    assert dict(requests)["mix:2"] == "plum" and dict(requests)["mix:1"] == "rye"


def test_an_item_is_skipped_alone_and_its_joint_is_not_while_they_run(
    desk: Desk, order: OrderProcess
) -> None:
    client = desk("operator")
    refusal = client.post(
        f"/console/orders/{order.pk}/steps/mix/skip/", {"reason": "all of them", "typed": "mix"}
    )
    assert "Step mix waits for its items." in refusal.content.decode()
    client.post(f"/console/orders/{order.pk}/steps/mix:2/skip/", {"reason": "not hungry", "typed": "mix:2"})
    assert states(order)["mix:2"] == "skipped" and states(order)["mix"] == "awaiting"
    assert stored(order).process_state == "pending"
    assert len(alerts_of(order)) == 1


def test_orders_are_found_by_the_step_whose_item_failed(desk: Desk, order: OrderProcess) -> None:
    page = desk("operator").get("/console/orders/", {"state": "error", "step": "mix"}).content.decode()
    assert str(order.pk) in page
    assert '<option value="mix"' in page and '<option value="mix:2"' not in page


def test_the_workflow_counts_an_item_at_its_step(desk: Desk, order: OrderProcess) -> None:
    page = desk("operator").get("/console/workflow/").content.decode()
    assert "mix:2" not in page
    assert page.count("· for each item") == 2  # in the drawing and in the table
    graph = next(graph for graph in graphs(now=ago(0)) if graph.name == "bake")
    assert {node.name: node.counts.failed for node in graph.nodes} == {"mix": 1, "serve": 0}
