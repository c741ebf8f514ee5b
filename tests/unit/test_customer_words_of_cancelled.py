"""What customers read of a cancelled order: why it was, and what became of the money."""

from dataclasses import replace
from typing import Any

import pytest

from orders.business import Compensation, CustomerWords, StageWords, registry
from orders.selectors.customer_order import CustomerOrder, CustomerStep
from tests.support.businesses import Bakery
from tests.unit.customer_cakes import Cakes, bakery, order, own_words, read, stages, step

__all__ = ["bakery", "own_words"]


def cancelled(*steps: CustomerStep, **fields: Any) -> CustomerOrder:
    return order(*steps, **{"goal": "compensate", "state": "compensated", **fields})


CHARGES = {
    "taken": ([step("mix", "compensated"), step("bake", "compensated")], "€9.00 refunded"),
    "perhaps taken": (
        [step("mix", "compensated"), step("bake", "compensated", outcome="unknown")],
        "€9.00 refunded if it was taken",
    ),
    "reserved": ([step("mix", "compensated"), step("bake")], "€9.00 released, nothing charged"),
    "declined": (
        [step("mix", "failed", error={"code": "no", "waits_for": "customer"}), step("bake")],
        "Nothing charged",
    ),
    "declined when it was to be taken": (
        [step("bake", "failed", error={"code": "no", "waits_for": "customer"})],
        "Nothing charged",
    ),
    "not begun": ([step("mix"), step("bake")], "Nothing charged"),
}


@pytest.mark.parametrize("name", CHARGES)
@pytest.mark.parametrize("version", [2, 1])
def test_what_became_of_the_money_follows_from_what_the_steps_do_with_it(name: str, version: int) -> None:
    steps, title = CHARGES[name]
    assert stages(cancelled(*steps, workflow_version=version), compensation_requested={})[2] == (
        title,
        "done",
    )


@pytest.mark.usefixtures("own_words")
def test_a_cancelled_order_says_why_and_gives_back_in_its_kinds_words() -> None:
    steps = (step("mix", "compensated"), step("bake", "compensated"))
    done = read(cancelled(*steps), compensation_requested={"why": "decided"})
    assert done.sentences == ["It did not taste right.", "€9.00!"]
    assert [stage.title for stage in done.stages[1:]] == [
        "Cancelled by us",
        "€9.00 back",
        "Eaten by us",
        "In the oven",
    ]
    steps = (step("mix", "completed"), step("bake", "compensating"))
    going = read(cancelled(*steps, state="processing"), compensation_requested={"why": "customer_cancelled"})
    assert going.sentences == ["You cancelled it.", "Soon €9.00.", "There’s nothing you need to do."]
    other = read(cancelled(*steps, step("taste")), compensation_requested={"why": "the oven broke"})
    assert other.sentences[0] == "We couldn’t fulfil it, and we’re sorry."


OWN = StageWords(title="Mixed", steps=("mix",), after_reversal="Poured away", until_reversal="Pouring away")
PERHAPS = replace(
    OWN, after_reversal_perhaps="Nothing to eat", until_reversal_perhaps="Looking for something to eat"
)


@pytest.fixture
def reversible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has what was mixed be reversed, and no money be in it."""
    monkeypatch.setattr(Cakes, "steps", (replace(Bakery.step, compensation=Compensation.REVERSE),))
    registry.forget()


@pytest.mark.usefixtures("reversible")
@pytest.mark.parametrize(
    ("own", "outcome", "until", "after"),
    [
        ((), "done", "Mix: being reversed", "Mix: reversed"),
        ((), "unknown", "Mix: being reversed if it was done", "Mix: reversed if it was done"),
        ((OWN,), "done", "Pouring away", "Poured away"),
        ((OWN,), "unknown", "Mixed: being reversed if it was done", "Mixed: reversed if it was done"),
        ((PERHAPS,), "done", "Pouring away", "Poured away"),
        ((PERHAPS,), "unknown", "Looking for something to eat", "Nothing to eat"),
    ],
)
def test_what_may_have_been_done_is_not_said_to_have_been_reversed(
    own: tuple[StageWords, ...], outcome: str, until: str, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cakes, "customer_words", CustomerWords(stages=own))
    for state, fields, expected in (
        ("compensating", {"is_backward": True}, (until, "now")),
        ("compensated", {}, (after, "done")),
    ):
        order = cancelled(step("mix", state, outcome=outcome, **fields), state="processing", total=None)
        assert stages(order)[-2] == expected


@pytest.mark.parametrize("why", ["operator_requested", "step_remedy", "the oven broke"])
def test_nobody_is_told_that_what_was_done_could_not_be_done(why: str) -> None:
    steps = [step(name, "compensated") for name in ("mix", "more-flour", "bake")]
    for last in (step("taste", "compensated"), step("taste", "skipped")):
        page = read(cancelled(*steps, last), compensation_requested={"why": why})
        assert page.sentences[0] == "We cancelled it."


def test_nothing_is_said_of_money_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    free = cancelled(step("mix", "compensating"), state="processing", total=None)
    expected = [
        ("We have your order", "done"),
        ("Mix", "done"),
        ("Cancelled by us", "done"),
        ("Cancelling everything", "now"),
    ]
    assert stages(free) == expected
    assert read(free).sentences == [
        "We cancelled it.",
        "There’s nothing you need to do.",
    ]
    monkeypatch.setattr(Cakes, "steps", (Bakery.step,))
    registry.forget()
    assert stages(cancelled(step("mix", "compensating"), state="processing")) == expected
