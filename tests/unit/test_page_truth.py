"""The order's page says what is true, of every legal combination of the states of the shop's steps."""

from dataclasses import replace

import pytest
from babel import Locale

from orders.wording.customers.progress import progress
from tests.unit.page_checks import check_money, check_stages, check_times, check_words
from tests.unit.shop_orders import (
    APPROVAL,
    BOTH,
    CAPTURE,
    PAID,
    REVERSING,
    STOCK,
    at,
    cancel,
    end,
    every_order,
    forward,
    reversed_step,
)


def test_of_every_order_everything_is_true() -> None:
    cases = list(every_order())
    for case in cases:
        page = case.read()
        try:
            check_stages(case, page)
            check_times(page)
            check_money(case, page)
            check_words(case, page)
        except AssertionError as error:
            raise AssertionError(f"{case.name} ({case.state}):\n{page}\n{error}") from error
    assert len(cases) > 2_500


def test_nothing_says_late_before_the_promise_has_passed_and_then_help_is_there() -> None:
    for case in every_order():
        if case.goal == "complete":
            before, after = case.read(after=599), case.read(after=601)
            assert not any("longer" in words for words in (before.headline, before.word, *before.sentences))
            assert after.is_late <= after.offers_help
            assert after.is_late == any("longer than we promised" in words for words in after.sentences)


@pytest.mark.parametrize(("after", "is_said"), [(179, True), (181, False)])
def test_the_usual_time_is_said_only_while_it_holds(after: float, is_said: bool) -> None:
    sentences = forward({STOCK: "running"}).read(after=after).sentences
    assert ("Nine out of ten orders are done in about 3 minutes." in sentences) == is_said


@pytest.mark.parametrize(("after", "changes"), [(179, 180), (181, 600), (601, None)])
def test_the_page_knows_when_it_will_say_something_else(after: float, changes: float | None) -> None:
    assert forward({STOCK: "running"}).read(after=after).changes_at == (changes and at(changes))
    assert forward({STOCK: "completed", APPROVAL: "declined"}).read(after=after).changes_at is None


def test_a_cancellation_is_late_by_its_own_time_and_does_not_call_the_order_safe() -> None:
    case = cancel(forward(BOTH))
    assert not case.read(after=1_599).is_late
    late = case.read(after=1_601)
    assert late.offers_help and not any("Your order is safe" in words for words in late.sentences)
    assert "We’re still cancelling your order, and nothing gets lost." in late.sentences[-1], (
        "whoever cancelled it"
    )
    assert not end(case).read(after=9_999).is_late


def test_what_a_stage_without_words_for_its_reversal_does_is_named_by_its_noun() -> None:
    case = cancel(forward(PAID))
    reversing = {**case.steps, CAPTURE: {**case.steps[CAPTURE], **REVERSING["under way"]}}
    titles = []
    for each in (replace(case, steps=reversing), reversed_step(case, CAPTURE)):
        free = replace(
            each.tracked, order=replace(each.tracked.order, total=None)
        )  # or its money would be a stage
        page = progress(free, now=at(1_100), locale=Locale("en"), usual=None)
        titles += [stage.title for stage in page.stages if stage.title.startswith(("Paid:", "Payment:"))]
    assert titles == ["Payment: being reversed", "Payment: reversed"]
