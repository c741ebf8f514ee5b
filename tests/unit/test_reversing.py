"""Whether what a step may have done can be reversed, so that it can be done anew: pure decisions (P2, rule 5)."""

from dataclasses import replace

import pytest

from orders.engine.contracts import Compensation, Step
from orders.engine.reversing import why_not_reversed
from orders.engine.scheduler.dispatch import key_expiry_error
from tests.support.workflows import CAKE
from tests.unit.rows import NOW, at, step_row

MIX = CAKE.by_name["mix"]
ASKED = replace(MIX, can_be_asked=True)
LAST = MIX.key_retention - MIX.complete_by - MIX.settle
"""How old a key may be when its reversal is sent: the service still recognises it when the reversal arrives."""


@pytest.mark.pattern("F14", "O2")
@pytest.mark.parametrize(
    ("declared", "age", "reason"),
    [
        (MIX, LAST, ""),
        (MIX, LAST + 1, "was sent so long ago that kitchen may no longer know it"),
        (ASKED, LAST + 1, ""),
        (replace(MIX, compensation=Compensation.NOTICE), 1, "has nothing that reverses it"),
        (replace(MIX, compensation=Compensation.NONE), 1, "has nothing that reverses it"),
        (replace(MIX, takes_value=True), 1, "moves money, and that is not done twice"),
        (replace(MIX, reserves_value=True), 1, "moves money, and that is not done twice"),
        (replace(ASKED, key_retention=0.0), 1, ""),
    ],
)
def test_only_what_its_service_still_recognises_and_reverses_is_reversed(
    declared: Step, age: float, reason: str
) -> None:
    assert why_not_reversed(declared, at(-age), NOW) == reason


@pytest.mark.pattern("F14", "A3")
@pytest.mark.parametrize(
    ("declared", "age", "goal", "expires"),
    [
        (MIX, LAST, "complete", False),
        (MIX, LAST + 1, "complete", True),
        (ASKED, LAST + 1, "complete", False),
        (MIX, LAST + 1, "compensate", False),
    ],
)
def test_a_reversal_before_an_edit_is_not_sent_once_its_service_may_have_forgotten_the_call(
    declared: Step, age: float, goal: str, expires: bool
) -> None:
    """That the service then knows of nothing to reverse is no reason to do it again. Nothing is done anew after a
    cancellation."""
    step = step_row("mix", "compensating", attempt=3, outcome="unknown", sent_at=at(-age), next_request={})
    error = key_expiry_error(step, declared, goal, NOW)
    assert (error is not None and error["code"] == "key_expired") is expires
