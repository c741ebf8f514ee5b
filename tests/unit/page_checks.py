"""What holds of every page of an order: its stages, times, money and words are those of its steps."""

from orders.business.words import Situation, StageWords
from orders.shop.customer_words import CUSTOMER_WORDS
from orders.wording.customers.progress import Progress
from orders.wording.customers.stages import ICONS, STATES
from tests.unit.shop_orders import (
    APPROVAL,
    CAPTURE,
    EMAIL,
    SHIPMENT,
    STEPS,
    STOCK,
    Case,
)

NAMED = [words for stage in CUSTOMER_WORDS.stages for words in (stage, *stage.parts)]
MONEY_WORDS = {
    "€39.00 refunded",
    "€39.00 refunded if it was taken",
    "€39.00 released, nothing charged",
    "Nothing charged or left reserved",
    "No money charged or reserved",
}


ONLY_EMAIL = "Only our email about it is still to come."
CONFIRMING = "Confirming the cancellation by email"
NOT_CHARGED = ("Nothing was charged", "Nothing has been charged", "No money was charged")


CERTAIN = {
    "Stock released": STOCK,
    "Releasing the stock": STOCK,
    "Shipment cancelled": SHIPMENT,
    "Cancelling the shipment": SHIPMENT,
}
"""What is said of the reversal of what was done."""
PERHAPS = {
    "No stock is reserved": STOCK,
    "Making sure that no stock is reserved": STOCK,
    "Nothing will be sent": SHIPMENT,
    "Making sure that nothing is sent": SHIPMENT,
}
"""What is said of the reversal of what may have been done."""


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
        for titles, outcome in ((CERTAIN, "done"), (PERHAPS, "unknown")):
            assert outcomes.get(titles.get(stage.title, ""), outcome) == outcome, stage
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


def _is_all_reversed(case: Case) -> bool:
    """Whether it is cancelled, and no step but the email has an effect, or may get one, that is not reversed."""
    return case.goal == "compensate" and all(
        step.get("state") == "compensated" or step.get("outcome", "none") in ("none", "refused")
        for name, step in case.steps.items()
        if name != EMAIL
    )


def check_words(case: Case, page: Progress) -> None:
    assert (page.situation is Situation.COMPLETE) == (case.state == "processed")
    complete = str(CUSTOMER_WORDS.situations[Situation.COMPLETE].headline.format(pieces=1))  # type: ignore[union-attr]
    assert case.state == "processed" or page.headline not in (complete, "Your order is complete.")
    assert (page.headline == "Your order was cancelled.") == _is_all_reversed(case)
    assert (page.word == "Cancelled") == _is_all_reversed(case)
    is_told = case.state == "compensated"
    assert (page.situation is Situation.CANCELLED) == page.has_ended == is_told or case.goal == "complete"
    assert (page.situation is Situation.REVERSED) == (_is_all_reversed(case) and not is_told)
    if page.situation is Situation.REVERSED:
        assert (ONLY_EMAIL in page.sentences) == (case.state != "error")
        assert [stage.title for stage in page.stages if stage.state not in ("done", "reversed")] == [
            CONFIRMING
        ]
    else:
        assert ONLY_EMAIL not in page.sentences and CONFIRMING not in {stage.title for stage in page.stages}
    words = [page.headline, page.word, *page.sentences, *(stage.title for stage in page.stages)]
    assert all(words) and not any("{" in each for each in words)
    assert set(ICONS) == set(STATES) and all(stage.word and stage.icon for stage in page.stages)
    waits_for_her = "waiting for you" in {stage.word for stage in page.stages}
    assert waits_for_her == (page.declined_until is not None)
    assert page.offers_help == (case.state == "error")
    if case.state == "error":
        assert "stop" in {stage.state for stage in page.stages}
