"""A sample's analysis from its registration to its end, with faults on the way."""

import time
from collections import Counter
from datetime import UTC, datetime
from uuid import UUID

import pytest

from examples.lab.samples import register
from examples.lab.standin import Laboratory
from examples.lab.workflows import AnalyseSample, steps
from orders.agents import Refused, Transient
from orders.business import BadOrderError
from orders.testing import EndedOrder, LostAnswer, run_to_end

pytestmark = pytest.mark.django_db(transaction=True)

DOWN = Transient("down", "the service is down")
LOST = LostAnswer(fault=Transient("cut", "the answer was lost"))
CALLED_BACK = {"spectrometry": {"finding": "traces of lead"}}
ACCEPTED = {"review": {"choice": "accept"}}
REJECTED = {"review": {"choice": "reject", "note": "the sample was warm"}}
ANALYSED = {"instruments book": 2, "analyses analyse": 2}
DONE = {**ANALYSED, "reports publish": 1}
TAKEN_BACK = {"instruments cancel": 2, "analyses void": 2}


def a_sample() -> UUID:
    return register(code="S-1", method="chromatography", batch="B-7")


def test_an_edited_method_reaches_both_analyses_and_an_edited_batch_the_report() -> None:
    data = {"sample": "S-1", "method": "chromatography", "batch": "B-7"}
    new = {"method": AnalyseSample.read_field("method", "staining"), "batch": "B-8"}
    edited = AnalyseSample.read(AnalyseSample.edit(data, new))
    differing = {step.name for step in steps(30.0) if step.data(edited) != step.data(data)}
    assert differing == {"spectrometry", "microscopy", "report"}
    assert AnalyseSample.profile(edited, placed_at=datetime.now(UTC)).title == "S-1, staining"
    with pytest.raises(BadOrderError, match="sample cannot be edited"):
        AnalyseSample.read_field("sample", "S-2")


def effects(laboratory: Laboratory) -> Counter[str]:
    return Counter(f"{effect.service} {effect.operation}" for effect in laboratory.ledger)


def states(ended: EndedOrder) -> dict[str, str]:
    return {name: step.state for name, step in ended.steps.items()}


def started(ended: EndedOrder) -> list[str]:
    return [step for kind, step in ended.events if kind == "step_started"]


def test_two_instruments_analyse_a_sample_and_the_report_says_what_they_found(laboratory: Laboratory) -> None:
    """One of them calls back."""
    ended = run_to_end(a_sample(), answers=CALLED_BACK | ACCEPTED)
    assert (ended.state, ended.seconds_skipped) == ("processed", 0.0)
    assert {name: step.attempts for name, step in ended.steps.items()} == dict.fromkeys(ended.steps, 1)
    assert effects(laboratory) == DONE
    assert laboratory.ledger[-1].details == {
        "sample": "S-1",
        "batch": "B-7",
        "findings": {
            "spectrometry": "traces of lead",
            "microscopy": "S-1 by chromatography: nothing unusual",
        },
        "accepted_by": "test",
    }


def test_the_analyses_are_done_at_the_same_time_each_on_its_own_booking(laboratory: Laboratory) -> None:
    ended = run_to_end(a_sample(), answers=CALLED_BACK | ACCEPTED)
    assert set(started(ended)[:2]) == {"book-spectrometer", "book-microscope"}
    assert set(started(ended)[2:4]) == {"spectrometry", "microscopy"}
    assert started(ended)[4:] == ["report"]
    bookings = {
        analysis.details["instrument"]: analysis.details["booking"]
        for analysis in laboratory.ledger
        if analysis.operation == "analyse"
    }
    assert bookings == {
        instrument: (ended.steps[f"book-{instrument}"].result or {})["reference"]
        for instrument in ("spectrometer", "microscope")
    }


def test_what_was_called_back_in_vain_is_found_by_asking(laboratory: Laboratory) -> None:
    began = time.monotonic()
    ended = run_to_end(a_sample(), answers=ACCEPTED)
    worked = time.monotonic() - began
    assert ended.state == "processed"
    assert laboratory.callbacks == [0]
    assert 60 - worked <= ended.seconds_skipped <= 60
    assert ended.steps["spectrometry"].failures == 0
    assert ended.steps["spectrometry"].result == {"finding": "S-1 by chromatography: nothing unusual"}
    assert effects(laboratory) == DONE


def test_a_rejected_sample_has_its_analyses_voided_and_its_bookings_cancelled(laboratory: Laboratory) -> None:
    ended = run_to_end(a_sample(), answers=CALLED_BACK | REJECTED)
    assert ended.state == "compensated"
    assert ended.steps["review"].result == {"choice": "reject", "by": "test", "note": "the sample was warm"}
    assert states(ended)["report"] == "not_started"
    assert effects(laboratory) == {**ANALYSED, **TAKEN_BACK}
    reversals = [effect.operation for effect in laboratory.ledger[4:]]
    assert reversals.index("void") < reversals.index("cancel")


def test_a_sample_that_nobody_reviews_is_an_error_after_a_day(laboratory: Laboratory) -> None:
    """An operator is told, and the bookings stay until she has decided."""
    ended = run_to_end(a_sample(), answers=CALLED_BACK)
    assert ended.state == "error"
    assert (states(ended)["review"], states(ended)["report"]) == ("failed", "not_started")
    assert (ended.steps["review"].error or {})["code"] == "no_answer"
    assert 86_000 < ended.seconds_skipped <= 86_400
    assert effects(laboratory) == ANALYSED


@pytest.mark.parametrize("agent", ["instruments", "analyses", "reports"])
def test_what_is_down_for_two_calls_costs_two_calls(laboratory: Laboratory, agent: str) -> None:
    ended = run_to_end(a_sample(), faults={agent: [DOWN, DOWN]}, answers=CALLED_BACK | ACCEPTED)
    assert ended.state == "processed"
    assert [kind for kind, _ in ended.events].count("call_failed") == 2
    assert effects(laboratory) == DONE


def test_a_long_outage_is_waited_for_in_no_time(laboratory: Laboratory) -> None:
    ended = run_to_end(a_sample(), faults={"instruments": [DOWN] * 30}, answers=CALLED_BACK | ACCEPTED)
    assert ended.state == "processed"
    assert ended.seconds_skipped > 60
    assert effects(laboratory) == DONE


def test_lost_answers_double_nothing(laboratory: Laboratory) -> None:
    faults = {"instruments": [LOST, LOST], "analyses": [LOST, LOST], "reports": [LOST]}
    ended = run_to_end(a_sample(), faults=faults, answers=ACCEPTED)
    assert ended.state == "processed"
    assert effects(laboratory) == DONE


def test_a_refused_report_is_an_error_and_leaves_everything_as_it_is(laboratory: Laboratory) -> None:
    faults = {"reports": [Refused("no", "the batch is closed")]}
    ended = run_to_end(a_sample(), faults=faults, answers=CALLED_BACK | ACCEPTED)
    assert ended.state == "error"
    assert states(ended).pop("report") == "failed"
    assert effects(laboratory) == ANALYSED


@pytest.mark.parametrize("fault", [None, DOWN, LOST])
def test_a_compensation_withdraws_the_report_and_takes_the_rest_back(
    laboratory: Laboratory, fault: Transient | LostAnswer | None
) -> None:
    order_id = a_sample()
    assert run_to_end(order_id, answers=CALLED_BACK | ACCEPTED).state == "processed"
    faults = {"instruments": [fault], "analyses": [fault], "reports": [fault]}
    ended = run_to_end(order_id, compensate=True, faults=faults)
    assert ended.state == "compensated"
    assert effects(laboratory) == {**DONE, **TAKEN_BACK, "reports withdraw": 1}
    assert laboratory.ledger[5].operation == "withdraw"


def test_a_sample_that_is_cancelled_while_an_instrument_is_at_work_is_compensated_in_full(
    laboratory: Laboratory,
) -> None:
    """Its result never comes, and is not waited for."""
    laboratory.seconds = 3_600.0
    ended = run_to_end(a_sample(), compensate=True)
    assert ended.state == "compensated"
    assert effects(laboratory) == {**ANALYSED, **TAKEN_BACK}
    assert laboratory.callbacks == []
