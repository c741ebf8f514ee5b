"""The emails that must have arrived by the end of an order, and none of them twice."""

from collections.abc import Iterator, Sequence

from tests.browser.truth.facts import ANSWERS, Occurred, Story
from tests.browser.truth.moments import Moment

CONFIRMATION = "send-confirmation"
CONFIRMED, CANCELLED = "Your order is on its way", "Your order was cancelled"
FIRST = ("We have your order", "Here is your order", CONFIRMED, CANCELLED)
"""The emails with which a guest is sent the link to her order; the first that arrives has it."""
DECLINED = (
    "Your card was declined",
    "We don’t have enough posters for your order",
    "Your poster has sold out",
    "Your posters have sold out",
    "We can’t send your order to this address",
)
HOLD = 45.0
"""Seconds after which she has been emailed what she has not seen on the page."""
REPEATS = frozenset({"call_failed", "step_timed_out", "compensation_failed", "compensation_timed_out"})
"""The events after which an email may be sent again."""


def missing_emails(story: Story, pages: Sequence[Moment]) -> Iterator[str]:
    """A complaint for each email that an order's customer was owed and not sent. What she has seen on one of the pages,
    she need not be told."""
    compensated = _last(story, "compensated")
    if not any(_has_arrived(story, words) for words in FIRST) and not _has_failed(story):
        yield "no email has arrived with the link to the order"
    if _last(story, "step_completed", CONFIRMATION) and not _has_arrived(story, CONFIRMED):
        yield "the email that confirms the order is missing"
    if compensated and not _has_arrived(story, CANCELLED):
        if _last(story, "step_completed", CONFIRMATION):
            yield "the order was confirmed by email, but not its cancellation"
        elif not _was_seen(pages, CANCELLED, compensated.at):
            yield "the order was cancelled, which neither its page nor an email says"
    declined = _last(story, "step_declined")
    if declined and not any(_has_arrived(story, words) for words in DECLINED):
        until = min([e.at for e in story.events if e.kind in ANSWERS and e.at > declined.at], default=0.0)
        if until - declined.at > HOLD and not any(_was_seen(pages, words, declined.at) for words in DECLINED):
            yield "a step was declined, which neither the order's page nor an email says"


def repeated_emails(story: Story) -> Iterator[str]:
    """A complaint for each email that has arrived twice though nothing had failed."""
    if any(event.kind in REPEATS and event.step == CONFIRMATION for event in story.events):
        return
    for words in (CONFIRMED, CANCELLED):
        number = sum(subject.startswith(words) for _, subject in story.emails)
        if number > 1:
            yield f"the email {words!r} has arrived {number} times"


def _has_arrived(story: Story, words: str) -> bool:
    return any(subject.startswith(words) for _, subject in story.emails)


def _has_failed(story: Story) -> bool:
    return any(span.service == "mail" and span.until >= story.placed for span in story.faults)


def _was_seen(pages: Sequence[Moment], words: str, since: float) -> bool:
    return any(
        page.until >= since
        and any(each.where == "headline" and each.text.startswith(words) for each in page.words)
        for page in pages
    )


def _last(story: Story, kind: str, step: str = "") -> Occurred | None:
    matching = [event for event in story.events if event.kind == kind and step in ("", event.step)]
    return matching[-1] if matching else None
