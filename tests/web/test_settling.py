"""The console's page that settles a step by hand: an input for each field that the step's result must hold."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from orders.models import Event, OrderProcess
from tests.support.businesses import Oven, business
from tests.support.factories import make_purchase, step_of
from tests.support.weighed_cakes import WHOLE, WeighedCakes, cake, doubtful_cake
from tests.web import console_orders as orders_of_the_shop
from tests.web.conftest import Desk
from tests.web.console_orders import HOSTILE

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O2", "F14")]

UNKNOWN = {"state": "failed", "outcome": "unknown", "attempt": 1}
FILLED = {
    "result.tin": "T7",
    "result.grams": "900",
    "result.layers": '["sponge", "cream"]',
    "reason": "I looked",
}
ANSWER = {"tin": "T7", "grams": "much", "layers": [], "more": HOSTILE}


@pytest.fixture(autouse=True)
def bakery(settings: Any) -> Iterator[None]:
    """The bakery, beside the shop."""
    with business(settings, kinds=[WeighedCakes], agents=[Oven()]):
        yield


@pytest.fixture
def order() -> OrderProcess:
    placed = doubtful_cake()
    make_purchase(placed.pk, total=None, currency="")
    return placed


@pytest.fixture
def admin(desk: Desk) -> Client:
    return desk("admin")


def at(order: OrderProcess) -> str:
    return f"/console/orders/{order.pk}/steps/mix/settle/"


def note(order: OrderProcess, kind: str, detail: dict[str, Any], attempt: int = 1) -> None:
    Event.objects.create(
        order_id=order.pk,
        kind=kind,
        step="mix",
        attempt=attempt,
        actor_kind="agents",
        actor_name="agents:a",
        detail=detail,
    )


def proposed(page: Any) -> dict[str, Any]:
    return {field.name: field.value() for field in page.context["form"]}


def test_each_field_has_an_input_with_its_label_and_type(admin: Client, order: OrderProcess) -> None:
    page = admin.get(at(order))
    text = page.content.decode()
    labels = dict(re.findall(r'<label class="field__label"\s+for="([^"]+)">([^<]+?)\s*<', text))
    assert labels == {
        "result.tin": "Number on the tin",
        "result.grams": "Weight in grams",
        "result.layers": "Layers",
        "reason": "Proof",
    }
    assert re.search(r'<input type="text" name="result\.tin"', text)
    assert re.search(r'<input type="number" name="result\.grams"[^>]* step="any"', text)
    assert re.search(r'<textarea name="result\.layers"', text)
    assert "as JSON" not in text
    assert set(proposed(page).values()) == {None, ""}


def test_what_is_filled_in_is_the_result_of_the_step(admin: Client, order: OrderProcess) -> None:
    assert admin.post(at(order), FILLED | {"how": "done"}).status_code == 302
    mix = step_of(order, "mix")
    assert (mix.state, mix.outcome, mix.result) == ("completed", "done", WHOLE)
    assert isinstance(mix.result["grams"], int)


@pytest.mark.parametrize(
    ("changed", "errors"),
    [
        ({"result.tin": "  "}, {"result.tin": "Enter this. Later steps or people rely on it."}),
        ({"result.grams": "much"}, {"result.grams": "Enter a number."}),
        ({"result.grams": "NaN"}, {"result.grams": "Enter a number."}),
        ({"result.layers": "null"}, {"result.layers": "Enter this. Later steps or people rely on it."}),
        (
            {"result.layers": "sponge"},
            {"result.layers": 'Enter JSON, such as 12, "a text" or ["a", "list"].'},
        ),
        ({"result.layers": "[NaN]"}, {"result.layers": 'Enter JSON, such as 12, "a text" or ["a", "list"].'}),
        (
            {"result.layers": "[" * 9_000},
            {"result.layers": 'Enter JSON, such as 12, "a text" or ["a", "list"].'},
        ),
        ({"result.tin": "x" * 1_001}, {"result.tin": "Shorten this to 1000 characters."}),
    ],
)
def test_a_mistake_is_shown_at_its_field_and_nothing_is_settled(
    admin: Client, order: OrderProcess, changed: dict[str, str], errors: dict[str, str]
) -> None:
    page = admin.post(at(order), FILLED | {"how": "done"} | changed)
    assert page.status_code == 422
    assert {name: errors[0] for name, errors in page.context["form"].errors.items()} == errors
    assert step_of(order, "mix").state == "failed"
    (name,) = changed
    assert f'id="{name}_error"' in page.content.decode()


def test_a_step_that_was_not_done_needs_no_result(admin: Client, order: OrderProcess) -> None:
    admin.post(at(order), {"how": "not done", "reason": "I looked"})
    assert step_of(order, "mix").outcome == "none"


def test_what_the_service_says_it_did_is_proposed(admin: Client, order: OrderProcess) -> None:
    note(order, "call_failed", {"code": "incomplete_result", "answer": {"tin": "an earlier one"}})
    note(order, "inquired", {"finding": "done", "result": WHOLE | {"more": 1}})
    note(order, "inquired", {"finding": "done", "result": {"tin": "of another attempt"}}, attempt=2)
    assert proposed(admin.get(at(order))) == {
        "how": "done",
        "result.tin": "T7",
        "result.grams": 900,
        "result.layers": '["sponge", "cream"]',
        "reason": None,
    }


@pytest.mark.parametrize("finding", [None, {"finding": "unknown", "reason": "it cannot tell"}])
def test_what_the_agent_answered_is_shown_and_what_fits_is_proposed(
    admin: Client, order: OrderProcess, finding: dict[str, Any] | None
) -> None:
    note(order, "call_failed", {"code": "incomplete_result", "answer": ANSWER})
    note(order, "call_failed", {"code": "busy"})
    if finding:
        note(order, "inquired", finding)
    page = admin.get(at(order))
    text = page.content.decode()
    assert "What oven answered" in text and "&quot;grams&quot;: &quot;much&quot;" in text
    assert HOSTILE not in text
    values = proposed(page)
    assert (values["how"], values["result.tin"], values["result.layers"]) == (None, "T7", "[]")
    assert "result.grams" in values and values["result.grams"] is None


@pytest.mark.parametrize("result", [["T7"], "T7", None])
def test_an_answer_that_is_no_object_proposes_nothing(
    admin: Client, order: OrderProcess, result: Any
) -> None:
    note(order, "inquired", {"finding": "done", "result": result})
    values = proposed(admin.get(at(order)))
    assert (values["how"], values["result.tin"]) == ("done", None)


@pytest.mark.parametrize("wrong", ["[1]", "{", '{"weight": NaN}', "[" * 9_000])
def test_a_step_that_declares_nothing_takes_its_result_as_json(admin: Client, wrong: str) -> None:
    order = orders_of_the_shop.an_order({"reserve-stock": UNKNOWN}, process_state="error")
    place = f"/console/orders/{order.pk}/steps/reserve-stock/settle/"
    assert "Response, as JSON, if it was done" in admin.get(place).content.decode()
    refused = admin.post(place, {"how": "done", "result": wrong, "reason": "seen"})
    assert refused.status_code == 422 and "Enter a JSON object" in refused.content.decode()
    admin.post(place, {"how": "done", "result": '{"reservation": "r-1"}', "reason": "seen"})
    assert step_of(order, "reserve-stock").result == {"reservation": "r-1"}


@pytest.mark.pattern("C10")
@pytest.mark.parametrize("finding", ["done", "not_done"])
def test_a_compensation_is_settled_as_such_whatever_the_service_says(admin: Client, finding: str) -> None:
    failed = {"state": "failed", "outcome": "done", "attempt": 1, "compensation_failure_count": 6}
    order = cake({"mix": failed}, process_state="error", goal="compensate")
    make_purchase(order.pk, total=None, currency="")
    note(order, "inquired", {"finding": finding, "result": {}})
    values = proposed(admin.get(at(order)))
    assert values == {"how": "compensated", "reason": None}
    admin.post(at(order), values | {"reason": "the oven's letter"})
    assert step_of(order, "mix").state == "compensated"
