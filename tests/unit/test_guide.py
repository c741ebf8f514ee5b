"""The snippets of the guide for a business of one's own run, one after another, as a reader would paste them."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIRequestFactory

from orders.business import registry
from orders.business.intake import OrderIntake
from orders.business.reading import read_text
from orders.business.signals import order_processed
from orders.engine.contracts import Step, Workflow
from orders.engine.submission import Submitter, SubmitterConfig
from orders.models import Order, OrderProcess, StepState
from tests.architecture.source import ROOT
from tests.commands.running import run
from tests.support.businesses import business
from tests.support.factories import ahead, make_order, make_purchase, step_of
from tests.support.people import token_of


@pytest.fixture
def guide() -> Iterator[dict[str, Any]]:
    """What the snippets define."""
    text = (ROOT / "docs" / "your-business.md").read_text()
    namespace: dict[str, Any] = {"__name__": "guide"}
    for snippet in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        exec(snippet, namespace)
    yield namespace
    order_processed.disconnect(namespace["write_label"], sender=namespace["WrapGift"])


@pytest.mark.django_db
def test_the_business_of_the_guide_can_be_installed_and_takes_orders(
    guide: dict[str, Any], settings: Any
) -> None:
    kind = guide["WrapGift"]
    with business(settings, kinds=[kind], agents=guide["agents"]):
        registry.check()
        assert "wrapping" in registry.agent_names()
        guide["order_gift"]("a kite", number="7")
        guide["order_gift"]("a kite", number="7")
        workflow = registry.newest_workflows()["wrap-gift"]
        config = SubmitterConfig(instance="submission:a")
        workflows = {("wrap-gift", 1): workflow}
        Submitter(config=config, intake=OrderIntake(), workflows=workflows).run_once()
        order = Order.objects.get()
    assert (order.title, order.subject, order.attributes) == ("a kite", "counter 4", ["paper=plain"])
    assert StepState.objects.get().request == {"lines": ["a kite"]}


def test_the_sums_and_members_of_the_guide_are_those_of_its_kind(guide: dict[str, Any]) -> None:
    gift = guide["RibbonedGift"]
    assert [(row.label, row.amount.amount, row.is_included) for row in gift.sum_rows({})] == [
        ("Ribbon", 150, False)
    ]
    rendered = {
        name: member.render(gift.client_values({}, {})[name])
        for name, member in gift.client_members().items()
    }
    assert rendered == {"ribbon": {"colour": "red"}}


def test_the_periodic_job_of_the_guide_is_found_by_its_path(guide: dict[str, Any]) -> None:
    assert [(job.path, job.minutes) for job in guide["JOBS"]] == [("guide.count_paper", 5)]


@pytest.mark.django_db
@pytest.mark.pattern("C4")
def test_an_order_moves_to_the_version_2_of_the_guide(guide: dict[str, Any], settings: Any) -> None:
    with business(settings, kinds=[guide["WrapGift"]], agents=guide["agents"]):
        guide["order_gift"]("a kite", number="7")
        config = SubmitterConfig(instance="submission:a")
        Submitter(config=config, intake=OrderIntake(), workflows=registry.workflows()).run_once()
    with business(settings, kinds=[guide["CheckedGift"]], agents=guide["agents"]):
        move = ("workflows", "move", "wrap-gift", "--from", "1", "--to", "2")
        assert run(*move).line_with("can move") == "1 order can move from version 1 of wrap-gift to version 2"
        assert run(*move, "--yes").code == 0
        assert run("workflows").line_with("may go") == "wrap-gift 1 0 0 no order needs it: it may go"
    assert OrderProcess.objects.get().version == 2
    steps = StepState.objects.order_by("position").values_list("name", "request")
    assert list(steps) == [("wrap", {"lines": ["a kite"]}), ("check", {})]


def test_the_guides_step_is_valid(guide: dict[str, Any]) -> None:
    assert guide["WRAP"].agent == "wrapping"
    assert guide["WRAP"].declined_as == "wrap_declined"
    assert guide["PAPER"].customer_editable == tuple(field.name for field in guide["FIELDS"] if field.act)
    assert Workflow(name="branches", version=1, steps=guide["BRANCHES"]).has_branches
    assert guide["order_processed"].has_listeners(guide["WrapGift"])


@pytest.mark.django_db
def test_a_declined_step_of_the_guide_is_tried_again_over_rest(guide: dict[str, Any], settings: Any) -> None:
    wrap = Step(name="wrap", agent="wrapping", operation="wrap", customer_editable=("paper",))
    user = User.objects.create(username="ada")

    class DeclinedGift(guide["WrapGift"]):  # type: ignore[misc]
        @classmethod
        def versions(cls, environment: Any) -> list[Workflow]:
            return [Workflow(name=cls.name, version=1, steps=(wrap,))]

        @classmethod
        def read_field(cls, name: str, value: object) -> Any:
            return read_text(value, name, 10)

    with business(settings, kinds=[DeclinedGift], agents=guide["agents"]):
        workflow = registry.newest_workflows()["wrap-gift"]
        error = {"code": "no", "message": "no", "waits_for": "customer"}
        order = make_order(
            {"wrap": {"state": "failed", "error": error, "not_before": ahead(60)}}, workflow=workflow
        )
        make_purchase(order.pk, customer=user)
        signed = {"Authorization": f"Token {token_of(user)}"}

        def change(paper: str) -> Any:
            request = APIRequestFactory().post("/", {"paper": paper}, format="json", headers=signed)
            return guide["GiftPaper"].as_view()(request, order_id=order.pk)

        refusal = change("x" * 11)
        (mistake,) = json.loads(refusal.content)["errors"]
        assert (refusal.status_code, mistake["pointer"]) == (400, "/paper")
        response = change("blue")
        assert (response.status_code, response.data["waiting_for"]) == (202, None)
        assert response.data["id"] == str(order.pk)
    assert step_of(order, "wrap").request["paper"] == "blue"
