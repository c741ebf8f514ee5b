"""What customers read of an order of any kind: from its steps and its kind's words alone."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from babel import Locale

from orders.business import (
    CustomerWords,
    Situation,
    StageWords,
    registry,
)
from orders.business.words import GENERAL_SITUATIONS, GENERAL_WAITS
from orders.engine.errors import WorkflowError
from orders.selectors.customer_order import customer_step
from orders.selectors.tracked_orders import Occurrence, TrackedOrder
from orders.vocabulary import WaitKind
from orders.wording.customers.progress import progress
from orders.wording.customers.situations import TONES, listed_status
from tests.unit.customer_cakes import (
    ALL,
    AWAITED,
    PLACED,
    WORDS,
    Cakes,
    bakery,
    order,
    own_words,
    read,
    stages,
    step,
)

__all__ = ["bakery", "own_words"]


def test_a_kind_without_words_has_general_ones_and_shows_each_step_by_its_name() -> None:
    view = order(step("mix", "completed"), step("more-flour"), step("bake", "running"), step("taste"))
    assert stages(view) == [
        ("We have your order", "done"),
        ("Mix", "done"),
        ("More flour", "later"),
        ("Bake", "now"),
        ("Taste", "later"),
    ]
    assert read(view).headline == "Thank you. We’re working on it."


def test_every_situation_has_words_an_icon_and_a_tone() -> None:
    assert set(GENERAL_SITUATIONS) == set(TONES) == set(Situation)
    for words in GENERAL_SITUATIONS.values():
        assert words.status and words.headline and words.icon and words.sentence is not None
    assert set(GENERAL_WAITS) == set(WaitKind) - {WaitKind.ITEMS}


@pytest.mark.usefixtures("own_words")
def test_a_stage_stands_for_its_steps_and_a_step_of_no_stage_for_itself_in_the_order_of_the_steps() -> None:
    mixed = order(step("mix", "completed"), step("more-flour"), step("bake"), step("taste"))
    assert stages(mixed) == [
        ("We have your recipe", "done"),
        ("In the oven", "now"),
        ("More flour", "later"),
        ("Tasted", "later"),
    ]
    assert stages(order(*ALL[:3], step("taste"))) == [
        ("We have your recipe", "done"),
        ("In the oven", "done"),
        ("More flour", "done"),
        ("Tasted", "later"),
    ]


@pytest.mark.usefixtures("own_words")
def test_before_it_is_inserted_an_order_shows_the_stages_that_it_will_have() -> None:
    titles = ["We have your recipe", "In the oven", "More flour", "Tasted"]
    view = order(state="pending", workflow_version=0)
    assert stages(view) == [*zip(titles, ("done", "later", "later", "later"), strict=True)]
    assert read(view).situation is Situation.RECEIVED


def test_steps_without_a_stage_can_be_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cakes, "customer_words", replace(WORDS, shows_other_steps=False))
    for view in (order(*ALL), order(state="pending")):
        assert [title for title, _ in stages(view)] == ["We have your recipe", "In the oven", "Tasted"]


@pytest.mark.usefixtures("own_words")
def test_the_items_of_a_step_are_one_stage_with_the_words_of_their_step() -> None:
    items = (step("bake:1", "completed"), step("bake:2", "running", attempts=2), step("more-flour:1"))
    view = order(step("mix", "completed"), *items)
    assert stages(view)[1:] == [("In the oven", "retry"), ("More flour", "later")]
    assert read(view).sentences == ["The oven was cold."]
    assert not read(view).may_cancel


@pytest.mark.usefixtures("own_words")
def test_a_step_that_was_not_needed_is_called_that_and_the_order_claims_no_more_than_was_done() -> None:
    view = order(*ALL[:3], step("taste", "skipped"), state="processed")
    assert stages(view)[-1] == ("Tasted", "skipped")
    assert read(view).sentences == ["Everything is done."]
    assert read(order(*ALL, state="processed")).sentences == []


@pytest.mark.usefixtures("own_words")
def test_an_order_says_of_what_waits_that_it_waits() -> None:
    view = order(*ALL[:3], step("taste", "awaiting", **AWAITED), state="pending")
    seen = read(view, usual=60)
    assert (seen.situation, seen.word, stages(view)[-1]) == (Situation.WAITING, "Waiting", ("Tasted", "wait"))
    assert seen.sentences == [
        "Our taster has it.",
        "You can close this page and come back to it at any time.",
    ]
    assert seen.stages[-1].word == "waiting"
    assert listed_status(view).word == "Waiting"


@pytest.mark.parametrize("kind", sorted(set(WaitKind) - {WaitKind.ITEMS}))
def test_what_has_no_words_of_its_own_says_what_kind_of_wait_it_is(kind: WaitKind) -> None:
    seen = read(order(step("mix", "completed"), step("taste", "awaiting", awaits=kind)))
    assert seen.sentences[0] == GENERAL_WAITS[kind]


def test_while_anything_is_under_way_the_order_does_not_wait() -> None:
    asks_again = {"awaits": WaitKind.ANSWER, "attempts": 3, "not_before": PLACED}
    view = order(
        step("mix", "completed"), step("more-flour", "awaiting", **asks_again), step("bake", "running")
    )
    assert read(view).situation is Situation.WORKING
    assert listed_status(view).word == "In progress"
    assert stages(view)[1:] == [("Mix", "done"), ("More flour", "wait"), ("Bake", "now")]


def columns(state: str, *, kind: str | None, until: datetime | None) -> dict[str, Any]:
    """A step's columns in its second attempt."""
    names = ("complete_by", "started_at", "completed_at", "not_before", "waiting_since", "error", "outcome")
    names = (*names, "compensation_sent_at")
    moments = dict.fromkeys(names)
    awaits = {"kind": kind} if kind else None
    return {"name": "bake", "state": state, "attempt": 2, "awaits": awaits, "awaits_until": until, **moments}


@pytest.mark.parametrize(
    ("row", "situation"),
    [
        (columns("awaiting", kind="answer", until=PLACED), Situation.WAITING),
        (columns("running", kind="answer", until=PLACED), Situation.WAITING),
        (columns("running", kind="answer", until=None), Situation.RETRYING),
        (columns("running", kind=None, until=None), Situation.RETRYING),
        (columns("not_started", kind="answer", until=PLACED), Situation.RETRYING),
        (columns("awaiting", kind="decision", until=None), Situation.WAITING),
    ],
)
def test_asking_again_whether_there_is_an_answer_is_no_retry(
    row: dict[str, Any], situation: Situation
) -> None:
    assert read(order(customer_step(row, "complete"))).situation is situation


@pytest.mark.usefixtures("own_words")
def test_a_complete_order_is_called_what_its_kind_calls_it() -> None:
    view = order(*ALL, state="processed")
    seen = read(view)
    assert (seen.word, seen.headline, seen.icon, seen.tone) == ("Baked", "Enjoy your cake.", "done", "good")
    assert listed_status(view).word == "Baked"
    retried = order(step("mix", "running", attempts=3))
    assert (read(retried).word, listed_status(retried).word) == ("Trying again", "Trying again")


def test_what_was_declined_waits_for_the_customer_with_words_of_its_own_the_second_time() -> None:
    error = {"code": "no", "message": "no", "waits_for": "customer"}
    view = order(step("mix", "failed", error=error, not_before=PLACED + timedelta(hours=1)))
    seen = read(view)
    assert (seen.word, seen.declined_until) == ("Waiting for you", PLACED + timedelta(hours=1))
    again = {("paid_again", "mix"): Occurrence(at=PLACED, attempt=1, detail={})}
    tracked = TrackedOrder(order=view, email="", data={}, occurrences=again)
    second = progress(tracked, now=PLACED, locale=Locale("en"), usual=None)
    assert second.sentences == ["That was declined, too. Please try something else."]


HELD_UP = {
    "nothing": ([step("mix", "failed")], "Nothing was charged."),
    "perhaps reserved": (
        [step("mix", "failed", outcome="unknown")],
        "€9.00 may be reserved. If the order is cancelled, it will be released.",
    ),
    "reserved": (
        [step("mix", "completed"), step("more-flour", "failed")],
        "€9.00 is reserved, and will be released if the order is cancelled.",
    ),
    "perhaps taken": (
        [step("mix", "completed"), step("bake", "failed", outcome="unknown")],
        "We don’t know yet whether €9.00 was taken.",
    ),
    "taken, of which the kind's own words do not tell": (
        [*ALL[:3], step("taste", "failed")],
        "€9.00 has been charged. If the order is cancelled, we’ll refund it.",
    ),
}


@pytest.mark.usefixtures("own_words")
@pytest.mark.parametrize("name", HELD_UP)
def test_an_order_that_is_held_up_says_where_its_money_is(name: str) -> None:
    steps, sentence = HELD_UP[name]
    assert read(order(*steps, state="error")).sentences[1:] == [sentence]
    assert read(order(*steps, state="error", total=None)).sentences[1:] == []


@pytest.mark.parametrize("version", [2, 1])
def test_an_order_can_be_cancelled_until_the_point_of_no_return_also_of_a_version_that_has_gone(
    version: int,
) -> None:
    assert read(order(step("mix", "completed"), step("bake"), workflow_version=version)).may_cancel
    late = order(step("mix", "completed"), step("bake", "running"), workflow_version=version)
    assert not read(late).may_cancel


def test_an_order_is_late_after_its_promise_and_never_without_one() -> None:
    promised = {"promised_by": PLACED + timedelta(seconds=600)}
    assert not read(order(step("mix", "running"), **promised), after=600).is_late
    assert read(order(step("mix", "running"), **promised), after=601).is_late
    assert read(order(step("mix", "awaiting", **AWAITED), **promised), after=601).is_late
    assert not read(order(*ALL, state="processed", **promised), after=601).is_late
    assert not read(order(step("mix", "running")), after=10**6).is_late


def test_the_usual_time_is_said_while_it_is_worked_on() -> None:
    sentences = read(order(step("mix", "running")), usual=180).sentences
    assert sentences[-1] == "Nine out of ten orders are done in about 3 minutes."


def test_an_order_of_a_kind_that_has_gone_has_general_words() -> None:
    seen = read(replace(order(step("mix", "completed"), step("stir", "running")), workflow="brew"))
    assert [stage.title for stage in seen.stages] == ["We have your order", "Mix", "Stir"]
    assert seen.headline == "Thank you. We’re working on it."


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (CustomerWords(stages=(StageWords(title="Iced", steps=("ice",)),)), r"\['ice'\], which are no steps"),
        (CustomerWords(retries={"ice": "again"}), r"\['ice'\], which are no steps"),
        (CustomerWords(waits={"bake:1": "soon"}), r"\['bake:1'\], which are no steps"),
        (
            CustomerWords(
                stages=(StageWords(title="A", steps=("mix",)), StageWords(title="B", steps=("mix",)))
            ),
            r"\['mix'\] belong to more than one stage",
        ),
    ],
)
def test_words_for_steps_that_there_are_not_stop_the_start(
    monkeypatch: pytest.MonkeyPatch, words: CustomerWords, message: str
) -> None:
    monkeypatch.setattr(Cakes, "customer_words", words)
    registry.forget()
    with pytest.raises(WorkflowError, match=f"bake: .*{message}"):
        registry.check()
