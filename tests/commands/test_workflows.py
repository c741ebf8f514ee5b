"""`manage.py workflows`: which versions there are, and which may go."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from orders.business import Environment, Workflow, registry
from tests.commands.running import run
from tests.support.businesses import Bakery, Oven, business
from tests.support.factories import make_order

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O2")]


class Versioned(Bakery):
    """The bakery's workflow with a second version, in which the cake is iced and mixed in another way."""

    @classmethod
    def versions(cls, environment: Environment) -> list[Workflow]:
        mix, ice = replace(cls.step, operation="knead"), replace(cls.step, name="ice", after=("mix",))
        return [
            Workflow(name="bake", version=1, steps=(cls.step,)),
            Workflow(name="bake", version=2, steps=(mix, ice)),
        ]


@pytest.fixture(autouse=True)
def bakery(settings: Any) -> Iterator[None]:
    """The bakery, beside the shop."""
    with business(settings, kinds=[Versioned], agents=[Oven()]):
        yield


def orders_on(version: int, number: int = 1, **process: Any) -> None:
    workflow = registry.workflows()["bake", min(version, 2)]
    for _ in range(number):
        make_order(workflow=replace(workflow, version=version), **process)


def test_an_old_version_may_go_when_no_order_is_on_it() -> None:
    orders_on(1, process_state="compensated", goal="compensate")
    orders_on(2, 2)
    ran = run("workflows")
    assert ran.code == 0
    assert ran.line_with("may go") == "bake 1 0 0 no order needs it: it may go"
    assert "bake 2 2 0 new orders take it" in ran.words
    assert "fulfil-order 1 0 0 new orders take it" in ran.words


def test_an_old_version_stays_while_orders_are_on_it() -> None:
    orders_on(1, 3)
    orders_on(1, process_state="error")
    assert run("workflows").line_with("still on it") == "bake 1 3 1 orders are still on it"


def test_an_old_version_stays_while_its_orders_can_be_cancelled() -> None:
    orders_on(1, process_state="processed")
    words = run("workflows").words
    assert "bake 1 0 0 orders that it has processed can still be cancelled" in words


def test_it_says_in_what_versions_differ() -> None:
    words = run("workflows").words
    assert "in bake version 2: ice is new mix: operation is knead and was mix" in words


def test_orders_on_a_version_that_this_release_lacks_are_reported() -> None:
    orders_on(3)
    ran = run("workflows")
    assert ran.code == 1
    assert ran.line_with("not in this release") == "bake 3 1 0 not in this release: its orders wait"


def test_scripts_get_the_same_as_json() -> None:
    orders_on(1)
    rows = {(row["name"], row["version"]): row for row in run("workflows", "--json").json()}
    assert rows["bake", 1] == {
        "name": "bake",
        "version": 1,
        "is_declared": True,
        "is_newest": False,
        "under_way": 1,
        "in_error": 0,
        "has_processed": False,
        "changes": [],
        "moves_to": [],
        "may_go": False,
    }
    assert rows["bake", 2]["changes"] == ["ice is new", "mix: operation is knead and was mix"]
