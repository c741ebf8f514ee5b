"""The history of one order for its page: what happened to the order itself, and each attempt of a step as one part.

Parts are sorted by their latest event, the newest first, and so are the events within one.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from orders.selectors.desk.attempts import Attempt, is_folded, runs
from orders.selectors.desk.history import EventFacts
from orders.selectors.desk.standing import RetryLimits
from orders.selectors.desk.timeline import AttemptOutcome
from orders.wording.attempts import ATTEMPTS, attempt_title, attempt_words, notice_sentence
from orders.wording.events import EventEntry, calls_sentence, error_text, event_entry
from orders.wording.order_notes import NOTE, note_entry
from orders.wording.state_labels import NOTICE_SENT, Pill

SHOWN = 8
"""Parts that are shown at once. The earlier ones are folded together."""


@dataclass(frozen=True, kw_only=True)
class AttemptHead:
    """What is said of an attempt while its events are folded. `error` is why it failed; `others` are the numbers of
    the step's other attempts, with which it can be compared, each with its name."""

    attempt: Attempt
    title: str
    pill: Pill
    error: str
    others: Sequence[tuple[int, str]]


@dataclass(frozen=True, kw_only=True)
class HistoryEntry:
    """An event, or several calls in a row that failed in the same way: `last` is the latest of them, `calls` are all,
    the latest first."""

    sentence: str
    last: EventEntry
    calls: Sequence[EventEntry] = ()


@dataclass(frozen=True, kw_only=True)
class HistoryPart:
    """Events that are shown together, newest first: of an attempt or, without `head`, of the order itself."""

    name: str
    head: AttemptHead | None
    entries: Sequence[HistoryEntry]
    is_open: bool = False


@dataclass(frozen=True, kw_only=True)
class History:
    """The parts, newest first: those up to the newest attempt, those before it, and the oldest, which are folded."""

    newest: Sequence[HistoryPart]
    earlier: Sequence[HistoryPart]
    oldest: Sequence[HistoryPart]


def history(
    events: Sequence[EventFacts],
    every_attempt: Sequence[Attempt],
    *,
    retry_limits: RetryLimits,
    notices: Collection[str] = (),
) -> History:
    """The history that these events tell. The newest attempt is open. The steps `notices` are not reversed when the
    order is cancelled, but send a notice."""
    parts = list(_parts(events, every_attempt, retry_limits, notices))
    until = next((number for number, part in enumerate(parts, 1) if part.is_open), len(parts))
    return History(newest=parts[:until], earlier=parts[until:SHOWN], oldest=parts[max(until, SHOWN) :])


def _parts(
    events: Sequence[EventFacts],
    every_attempt: Sequence[Attempt],
    retry_limits: RetryLimits,
    notices: Collection[str],
) -> Iterator[HistoryPart]:
    heads = {(attempt.step, attempt.number): attempt for attempt in every_attempt}
    folded: dict[tuple[str, int], list[EventFacts]] = {}
    run: list[EventFacts] = []
    placed: list[tuple[Attempt | None, list[EventFacts]]] = []
    for event in reversed(events):
        if is_folded(event):
            of = event.step, event.attempt
            if of not in folded:
                folded[of] = []
                placed.append((heads[of], folded[of]))
            folded[of].append(event)
        elif run and placed[-1][1] is run:
            run.append(event)
        else:
            run = [event]
            placed.append((None, run))
    newest = next((attempt for attempt, _ in placed if attempt), None)
    for attempt, of_part in placed:
        yield HistoryPart(
            name=f"{attempt.step}-{attempt.number}" if attempt else "",
            head=_head(attempt, every_attempt, notices) if attempt else None,
            entries=[_entry(run, retry_limits, notices) for run in runs(of_part)],
            is_open=attempt is not None and attempt is newest,
        )


def _entry(run: Sequence[EventFacts], retry_limits: RetryLimits, notices: Collection[str]) -> HistoryEntry:
    """A run of events, the latest first, as one entry."""
    entries = [note_entry(each) if each.kind == NOTE else event_entry(each, retry_limits) for each in run]
    if len(run) == 1:
        sentence = notice_sentence(run[0]) if run[0].step in notices else ""
        return HistoryEntry(sentence=sentence or entries[0].sentence, last=entries[0])
    return HistoryEntry(sentence=calls_sentence(run), last=entries[0], calls=entries)


def _head(attempt: Attempt, every_attempt: Sequence[Attempt], notices: Collection[str]) -> AttemptHead:
    ending = attempt.ending
    is_notice = attempt.compensates and attempt.step in notices
    is_sent = is_notice and attempt.outcome is AttemptOutcome.COMPENSATED
    return AttemptHead(
        attempt=attempt,
        title=attempt_title(attempt.step, attempt.number, reversal=attempt.reversal, is_notice=is_notice),
        pill=NOTICE_SENT if is_sent else ATTEMPTS[attempt.outcome],
        error=error_text(ending.detail.get("error")) if ending else "",
        others=[
            (other.number, attempt_words(other.number, reversal=other.reversal))
            for other in every_attempt
            if other.step == attempt.step and other.number != attempt.number
        ],
    )
