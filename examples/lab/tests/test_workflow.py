"""A sample's analysis from its registration to its end, with faults on the way."""

from collections import Counter
from uuid import UUID

import pytest

from examples.lab.samples import register
from examples.lab.standin import Laboratory
from orders.engine.errors import Refused, Transient
from orders.testing import EndedOrder, LostAnswer, run_to_end

pytestmark = pytest.mark.django_db(transaction=True)

DOWN = Transient("down", "the service is down")
LOST = LostAnswer(fault=Transient("cut", "the answer was lost"))
DONE = {"instruments book": 2, "reports publish": 1}
TAKEN_BACK = {"instruments cancel": 2, "reports withdraw": 1}


def a_sample() -> UUID:
    return register(code="S-1", method="chromatography", batch="B-7")


def effects(laboratory: Laboratory) -> Counter[str]:
    return Counter(f"{effect.service} {effect.operation}" for effect in laboratory.ledger)


def states(ended: EndedOrder) -> dict[str, str]:
    return {name: step.state for name, step in ended.steps.items()}


def test_two_instruments_are_booked_and_then_the_report_names_both(laboratory: Laboratory) -> None:
    ended = run_to_end(a_sample())
    assert (ended.state, ended.seconds_skipped) == ("processed", 0.0)
    assert {name: step.attempts for name, step in ended.steps.items()} == dict.fromkeys(ended.steps, 1)
    assert effects(laboratory) == DONE
    report = laboratory.ledger[-1]
    bookings = sorted((ended.steps[name].result or {})["reference"] for name in ended.steps if "book" in name)
    assert report.details == {"sample": "S-1", "batch": "B-7", "bookings": bookings}
    started = [step for kind, step in ended.events if kind == "step_started"]
    assert started[-1] == "report"


def test_what_is_down_for_two_calls_costs_two_calls(laboratory: Laboratory) -> None:
    ended = run_to_end(a_sample(), faults={"reports": [DOWN, DOWN]})
    assert ended.state == "processed"
    assert [kind for kind, _ in ended.events].count("call_failed") == 2
    assert effects(laboratory) == DONE


def test_a_long_outage_is_waited_for_in_no_time(laboratory: Laboratory) -> None:
    ended = run_to_end(a_sample(), faults={"instruments": [DOWN] * 30})
    assert ended.state == "processed"
    assert ended.seconds_skipped > 60
    assert effects(laboratory) == DONE


def test_lost_answers_double_nothing(laboratory: Laboratory) -> None:
    ended = run_to_end(a_sample(), faults={"instruments": [LOST, LOST], "reports": [LOST]})
    assert ended.state == "processed"
    assert effects(laboratory) == DONE


def test_a_refused_report_is_an_error_and_leaves_the_bookings(laboratory: Laboratory) -> None:
    ended = run_to_end(a_sample(), faults={"reports": [Refused("no", "the batch is closed")]})
    assert ended.state == "error"
    assert states(ended) == {
        "book-spectrometer": "completed",
        "book-microscope": "completed",
        "report": "failed",
    }
    assert effects(laboratory) == {"instruments book": 2}


@pytest.mark.parametrize("fault", [None, DOWN, LOST])
def test_a_compensation_withdraws_the_report_and_cancels_both_bookings(
    laboratory: Laboratory, fault: Transient | LostAnswer | None
) -> None:
    order_id = a_sample()
    assert run_to_end(order_id).state == "processed"
    ended = run_to_end(order_id, compensate=True, faults={"instruments": [fault], "reports": [fault]})
    assert ended.state == "compensated"
    assert effects(laboratory) == {**DONE, **TAKEN_BACK}
    assert laboratory.ledger[3].operation == "withdraw"


def test_an_order_whose_outcome_is_unknown_is_compensated_in_full(laboratory: Laboratory) -> None:
    order_id = a_sample()
    ended = run_to_end(order_id, compensate=True, faults={"reports": [LOST, *[DOWN] * 5]})
    assert ended.state == "compensated"
    assert effects(laboratory) == {**DONE, **TAKEN_BACK}
