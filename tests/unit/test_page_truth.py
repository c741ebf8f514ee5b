"""The order's page says what is true, of every legal combination of the states of the shop's steps.

The table says for some of them exactly what is read; of all of them the invariants hold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from babel import Locale

from orders.business.words import Situation, StageWords
from orders.shop.customer_words import CUSTOMER_WORDS
from orders.wording.customers.progress import Progress, progress
from orders.wording.customers.stages import ICONS, STATES
from tests.unit.shop_orders import (
    APPROVAL,
    CAPTURE,
    EMAIL,
    PLACED,
    REVERSING,
    SHIPMENT,
    STEPS,
    STOCK,
    Case,
    all_reversed,
    at,
    cancel,
    end,
    every_order,
    forward,
    reversed_step,
)

BOTH = {STOCK: "completed", APPROVAL: "completed"}
SENT = {**BOTH, SHIPMENT: "completed"}
PAID = {**SENT, CAPTURE: "completed"}
WHOLE = {**PAID, EMAIL: "completed"}
NOTHING_TO_DO = "There’s nothing you need to do."
AHEAD = ["Handing to the carrier: to come", "Payment: to come", "Confirmation by email: to come"]
RESERVED = "Stock reserved and payment approved: done 20"
NOT_OVER = "Cancelling everything and confirming it by email"
OVER = "Everything cancelled and confirmed by email: done 1200"
REVERSED = [
    "Stock reserved and payment approved: reversed later 20",
    "Handed to the carrier: reversed later 30",
    "Paid: reversed later 40",
    "Cancelled by us: done 1000",
    "€39.00 refunded: done 1010",
    "Shipment cancelled: done 1020",
    "Stock released: done 1040",
    OVER,
]


def held_on_the_way_back(step: str, begun: Case) -> Case:
    """The order as it is cancelled, while what reverses this step cannot be used."""
    case = cancel(begun)
    return replace(case, steps={**case.steps, step: {**case.steps[step], **REVERSING["held"]}})


WE_ARE_SORRY = "We couldn’t fulfil it, and we’re sorry."
AFTERWARDS = "We cancelled it."
HELD_UP = (
    "We’ve alerted our team, and they’ll let you know. You won’t be charged twice, and there’s nothing"
    " you need to do."
)

TABLE: Mapping[str, tuple[Case, str, Sequence[str], Sequence[str]]] = {
    "ordered during an outage": (
        forward({STOCK: "held", APPROVAL: "completed"}),
        "Your order is waiting.",
        ["Payment approved: done 20", "Reserving stock: waiting for our warehouse", *AHEAD],
        [
            "Our warehouse can’t take your order at the moment. We’ll go on as soon as it can. "
            + NOTHING_TO_DO
        ],
    ),
    "nothing can be reached": (
        forward({STOCK: "held", APPROVAL: "held"}),
        "Your order is waiting.",
        [
            "Reserving stock: waiting for our warehouse",
            "Approving payment: waiting for the payment service",
            *AHEAD,
        ],
        [],
    ),
    "tried in vain during an outage": (
        forward({STOCK: "held again", APPROVAL: "running"}),
        "We’re trying one step again.",
        ["Reserving stock: waiting for our warehouse", "Approving payment: in progress", *AHEAD],
        ["Our warehouse isn’t answering, so we’re asking again. " + NOTHING_TO_DO],
    ),
    "one of two done, the other held up": (
        forward({STOCK: "completed", APPROVAL: "failed"}),
        "We’re looking into a problem with your order.",
        ["Stock reserved: done 10", "Approving payment: held up", *AHEAD],
        [
            HELD_UP,
            "€39.00 may be reserved on your card. If the order is cancelled, it will be released.",
        ],
    ),
    "held up, and nothing reserved": (
        forward({STOCK: "refused"}),
        "We’re looking into a problem with your order.",
        ["Reserving stock: held up", "Approving payment: to come", *AHEAD],
        [HELD_UP, "No money was charged or reserved."],
    ),
    "held up, and reserved": (
        forward({STOCK: "failed", APPROVAL: "completed"}),
        "We’re looking into a problem with your order.",
        ["Payment approved: done 20", "Reserving stock: held up", *AHEAD],
        [
            HELD_UP,
            "€39.00 is reserved on your card, and will be released if the order is cancelled.",
        ],
    ),
    "held up, when it may be paid": (
        forward({**SENT, CAPTURE: "failed"}),
        "We’re looking into a problem with your order.",
        [
            RESERVED,
            "Handed to the carrier: done 30",
            "Payment: held up",
            "Confirmation by email: to come",
        ],
        [HELD_UP, "We don’t know yet whether €39.00 was taken."],
    ),
    "declined": (
        forward({STOCK: "completed", APPROVAL: "declined"}),
        "Your card was declined.",
        ["Stock reserved: done 10", "Approving payment: waiting for you", *AHEAD],
        ["Nothing has been charged. Choose another way to pay, and we’ll go on with your order."],
    ),
    "skipped": (
        forward({STOCK: "skipped", APPROVAL: "completed", SHIPMENT: "running"}),
        "Thank you. We’re working on it.",
        [
            "Payment approved: done 20",
            "Reserving stock: not needed",
            "Handing to the carrier: in progress",
            *AHEAD[1:],
        ],
        [],
    ),
    "settled by hand": (
        forward({STOCK: "settled", APPROVAL: "settled", SHIPMENT: "running again"}),
        "We’re trying one step again.",
        [RESERVED, "Handing to the carrier: trying again", *AHEAD[1:]],
        ["The carrier isn’t answering, so we’re asking again. " + NOTHING_TO_DO],
    ),
    "the email is late": (
        forward({**PAID, EMAIL: "running again"}),
        "Your poster is paid for and on its way.",
        [
            RESERVED,
            "Handed to the carrier: done 30",
            "Paid: done 40",
            "Confirmation by email: trying again",
        ],
        ["We’re not sure that our confirmation email went out, so we’re sending it again."],
    ),
    "the email cannot be sent": (
        forward({**PAID, EMAIL: "failed"}),
        "Your poster is paid for and on its way.",
        [RESERVED, "Handed to the carrier: done 30", "Paid: done 40", "Confirmation by email: held up"],
        [
            "Only our confirmation email is still to come.",
            HELD_UP,
        ],
    ),
    "complete": (
        forward(WHOLE, quantity=2),
        "Your posters are on their way.",
        [RESERVED, "Handed to the carrier: done 30", "Paid: done 40", "Confirmed by email: done 50"],
        ["It’s paid for and with the carrier. We’ve emailed you a confirmation."],
    ),
    "complete, and not paid": (
        forward({**WHOLE, CAPTURE: "skipped"}),
        "Your order is complete.",
        [
            RESERVED,
            "Handed to the carrier: done 30",
            "Confirmed by email: done 50",
            "Payment: not needed",
        ],
        ["Everything is done."],
    ),
    "cancelled while declined": (
        all_reversed(forward({STOCK: "completed", APPROVAL: "declined"}), "customer_cancelled"),
        "Your order was cancelled.",
        [
            "Stock reserved: reversed later 10",
            "You cancelled it: done 1000",
            "No money charged or reserved: done -",
            "Stock released: done 1010",
            OVER,
        ],
        ["You cancelled it.", "No money was charged or reserved."],
    ),
    "cancelled when it may be reserved": (
        cancel(forward({APPROVAL: "running"})),
        "We’re cancelling your order.",
        [
            "Cancelled by us: done 1000",
            "Release of €39.00, if it was reserved: in progress",
            f"{NOT_OVER}: to come",
        ],
        [
            WE_ARE_SORRY,
            "Nothing was charged. If €39.00 was reserved on your card, it will be released.",
            "We’re reversing what was done so far. " + NOTHING_TO_DO,
        ],
    ),
    "cancelled when it is reserved": (
        cancel(forward(BOTH)),
        "We’re cancelling your order.",
        [
            RESERVED,
            "Cancelled by us: done 1000",
            "Release of €39.00: in progress",
            "Releasing the stock: to come",
            f"{NOT_OVER}: to come",
        ],
        [
            WE_ARE_SORRY,
            "Nothing was charged, and the €39.00 reserved on your card will be released.",
            "We’re reversing what was done so far. " + NOTHING_TO_DO,
        ],
    ),
    "cancelled during an outage of the carrier": (
        held_on_the_way_back(SHIPMENT, forward({**SENT, CAPTURE: "refused"})),
        "We’re cancelling your order.",
        [
            RESERVED,
            "Handed to the carrier: done 30",
            "Cancelled by us: done 1000",
            "Release of €39.00: in progress",
            "Cancelling the shipment: waiting for the carrier",
            "Releasing the stock: to come",
            f"{NOT_OVER}: to come",
        ],
        [],
    ),
    "cancelled, and only the payment is reversed yet": (
        reversed_step(cancel(forward(BOTH)), APPROVAL),
        "We’re cancelling your order.",
        [
            "Stock reserved: done 10",
            "Payment approved: reversed later 20",
            "Cancelled by us: done 1000",
            "€39.00 released, nothing charged: done 1010",
            "Releasing the stock: to come",
            f"{NOT_OVER}: to come",
        ],
        [],
    ),
    "cancelled when it may be paid": (
        cancel(forward({**SENT, CAPTURE: "failed"})),
        "We’re cancelling your order.",
        [
            RESERVED,
            "Handed to the carrier: done 30",
            "Cancelled by us: done 1000",
            "Refund of €39.00, if it was taken: in progress",
            "Cancelling the shipment: to come",
            "Releasing the stock: to come",
            f"{NOT_OVER}: to come",
        ],
        [
            WE_ARE_SORRY,
            "We don’t know yet whether €39.00 was taken. If it was, we’ll refund all of it.",
            "We’re reversing what was done so far. " + NOTHING_TO_DO,
        ],
    ),
    "refunded after shipping": (
        all_reversed(forward(WHOLE)),
        "Your order was cancelled.",
        [*REVERSED[:3], "Confirmed by email: done 50", *REVERSED[3:]],
        [AFTERWARDS, "We’ve refunded €39.00. Your bank may take up to 10 days to show it."],
    ),
    "refunded after shipping, before the email": (
        all_reversed(forward({**PAID, EMAIL: "failed"})),
        "Your order was cancelled.",
        REVERSED,
        [AFTERWARDS, "We’ve refunded €39.00. Your bank may take up to 10 days to show it."],
    ),
}


def lines(page: Progress) -> list[str]:
    """The stages after the first, as they are read: title, state and the seconds at which they were done."""
    assert (page.stages[0].title, page.stages[0].at) == ("We have your order", PLACED)
    return [
        f"{stage.title}: {stage.word}"
        + (f" {(stage.at - PLACED).seconds}" if stage.at else " -" if stage.state == "done" else "")
        for stage in page.stages[1:]
    ]


@pytest.mark.parametrize("name", TABLE)
def test_the_page_says_exactly_this(name: str) -> None:
    case, headline, stages, sentences = TABLE[name]
    page = case.read()
    assert (page.headline, lines(page)) == (headline, stages)
    assert page.sentences[: len(sentences)] == sentences


NAMED = [words for stage in CUSTOMER_WORDS.stages for words in (stage, *stage.parts)]
MONEY_WORDS = {
    "€39.00 refunded",
    "€39.00 refunded if it was taken",
    "€39.00 released, nothing charged",
    "Nothing charged or left reserved",
    "No money charged or reserved",
}


NOT_CHARGED = ("Nothing was charged", "Nothing has been charged", "No money was charged")


def shown_steps(page: Progress, states: set[str]) -> set[str]:
    """The steps for which stages in these states stand, by title."""
    titles = {stage.title for stage in page.stages if stage.state in states}
    return {name for words in NAMED if titles & _titles(words) for name in words.steps}


def _titles(words: StageWords) -> set[str]:
    return {str(words.title), str(words.ahead)}


def check_stages(case: Case, page: Progress) -> None:
    states = {name: case.steps[name].get("state", "not_started") for name in STEPS}
    outcomes = {name: case.steps[name].get("outcome", "none") for name in STEPS}
    for stage in page.stages[1:]:
        done = [name for words in NAMED if stage.title == str(words.title) for name in words.steps]
        if stage.state in ("done", "reversed"):
            assert all(outcomes[name] == "done" for name in done), stage
        else:
            assert not done, f"{stage} is not done, and reads as if it were"
    if case.goal == "complete":
        assert shown_steps(page, set(STATES)) == set(STEPS)
        for name in shown_steps(page, {"done"}):
            assert states[name] == "completed", name
        failed = {name for name in STEPS if states[name] == "failed"}
        assert failed <= shown_steps(page, {"stop"})
        held = {name for name in STEPS if case.steps[name].get("waiting_since") and not case.is_paused}
        assert held <= shown_steps(page, {"wait", "stop"})
    else:
        done_once = {name for name in STEPS if outcomes[name] == "done"}
        assert shown_steps(page, {"done", "reversed"}) == done_once, "nothing that was done vanishes"
        waits = {name for name in STEPS if case.steps[name].get("waiting_since")}
        shown = done_once - ({APPROVAL} if outcomes[CAPTURE] in ("done", "unknown") else set())
        assert not waits & (shown | {EMAIL}) or "wait" in {stage.state for stage in page.stages}
        reversed_steps = {name for name in done_once if states[name] == "compensated" and name != EMAIL}
        assert reversed_steps <= shown_steps(page, {"reversed"})


def check_times(page: Progress) -> None:
    times = [stage.at for stage in page.stages if stage.at]
    assert times == sorted(times)
    states = [stage.state in ("done", "reversed") for stage in page.stages]
    assert states == sorted(states, reverse=True), "what has happened comes first"
    assert all(stage.at is None for stage in page.stages if stage.state not in ("done", "reversed"))


def check_money(case: Case, page: Progress) -> None:
    """Each claim about money is true of the steps that move it."""
    text = " ".join([page.headline, *page.sentences])
    capture, approval = (case.steps[name].get("outcome", "none") for name in (CAPTURE, APPROVAL))
    is_back = {name: case.steps[name].get("state") == "compensated" for name in STEPS}
    if "paid for" in text:
        assert case.steps[CAPTURE]["state"] == "completed"
    if "on its way" in text:
        assert case.steps[SHIPMENT]["state"] == "completed"
    if any(words in text for words in NOT_CHARGED):
        assert capture in ("none", "refused")
    if "charged or reserved" in text:
        assert approval in ("none", "refused")
    if "reserved on your card will" in text or "reserved on your card has" in text:
        assert (capture in ("none", "refused"), approval) == (True, "done")
    if "is reserved on your card" in text:
        assert (capture in ("none", "refused"), approval, is_back[APPROVAL]) == (True, "done", False)
    if "may be reserved on your card" in text:
        assert (capture in ("none", "refused"), approval) == (True, "unknown")
    if "€39.00 has been charged" in text:
        assert (capture, is_back[CAPTURE]) == ("done", False)
    if "We’ve refunded €39.00" in text:
        assert (capture, is_back[CAPTURE]) == ("done", True)
    if "We’ll refund €39.00" in text:
        assert (capture, is_back[CAPTURE]) == ("done", False)
    if "We don’t know yet" in text:
        assert capture == "unknown" and not is_back[CAPTURE]
    if "has been released" in text:
        assert is_back[APPROVAL] and approval in ("done", "unknown")
    if case.goal == "compensate":
        (money,) = [stage for stage in page.stages if "charged" in stage.title or "€" in stage.title]
        assert (money.state == "done") == (money.title in MONEY_WORDS)


def check_words(case: Case, page: Progress) -> None:
    assert (page.situation is Situation.COMPLETE) == (case.state == "processed")
    complete = str(CUSTOMER_WORDS.situations[Situation.COMPLETE].headline.format(pieces=1))  # type: ignore[union-attr]
    assert case.state == "processed" or page.headline not in (complete, "Your order is complete.")
    assert (page.headline == "Your order was cancelled.") == (case.state == "compensated")
    words = [page.headline, page.word, *page.sentences, *(stage.title for stage in page.stages)]
    assert all(words) and not any("{" in each for each in words)
    assert set(ICONS) == set(STATES) and all(stage.word and stage.icon for stage in page.stages)
    waits_for_her = "waiting for you" in {stage.word for stage in page.stages}
    assert waits_for_her == (page.declined_until is not None)
    assert page.offers_help == (case.state == "error")
    if case.state == "error":
        assert "stop" in {stage.state for stage in page.stages}


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
    assert ("This usually takes about 3 minutes." in sentences) == is_said


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
