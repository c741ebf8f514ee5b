"""Finds each sentence that was read in the tables, and asks whether it held at a moment when it was read."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from tests.browser.truth.email_claims import EMAIL_CLAIMS, MEANS_NOTHING
from tests.browser.truth.facts import LAG, ROUNDING, Holds, Known, Story
from tests.browser.truth.moments import Moment, Words
from tests.browser.truth.ordered import are_lines, are_sums
from tests.browser.truth.page_claims import PAGE_CLAIMS
from tests.browser.truth.stage_claims import STAGE_CLAIMS

EMAIL_PLACES = frozenset({"mail", "subject", "mail label"})
DATA: Mapping[str, Holds] = {"lines": are_lines, "sums": are_sums}
"""What shows the order's data, by the place where it stands."""
NOTHING: Mapping[str, Holds] = dict.fromkeys(MEANS_NOTHING, lambda k: True)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What the oracle makes of a story: the sentences that it found, and what is wrong with others."""

    sentences: frozenset[str]
    complaints: Sequence[str]


def judge(story: Story, moments: Sequence[Moment]) -> Judgement:
    """Judges all that was read of an order."""
    sentences: set[str] = set()
    complaints: list[str] = []
    for moment in moments:
        for words in moment.words:
            complaint, sentence = _judged(story, moment, words)
            sentences.add(sentence)
            if complaint:
                unknown = "is in no table" in complaint  # once is enough
                when = "" if unknown else f" at +{moment.since - story.placed:.2f} s"
                complaints.append(f"{moment.source or 'page'}{when}: {complaint}")
            elif complaint := _outlived(story, moment, words):
                complaints.append(f"{moment.source or 'page'}: {complaint}")
        complaints += _times_run_backwards(moment)
    complaints += _placed_anew(moments)
    return Judgement(sentences=frozenset(sentences), complaints=list(dict.fromkeys(complaints)))


def _judged(story: Story, moment: Moment, words: Words) -> tuple[str, str]:
    """A complaint, or an empty text, and the sentence of the tables."""
    match = find(words)
    if match is None:
        return f"{words.where} {words.text!r} is in no table: write down when it is true", ""
    sentence, holds, values = match
    for at in _instants(story, moment):
        facts = Known(story=story, at=at, where=words.where, state=words.state, values=values)
        if holds(facts):
            return "", sentence
    state = f" ({words.state})" if words.state else ""
    return f"untrue: {words.where} {words.text!r}{state}; {_ledger(story, moment)}", sentence


def _instants(story: Story, moment: Moment) -> Iterator[float]:
    """The moments at which what was read may have been true: both ends, whenever something happened between, and just
    before whatever had happened when the order was read, but could not be read in it yet."""
    yield moment.since
    recorded = [(effect.at, story.recorded(effect)) for effect in story.effects]
    for at, written in [*recorded, *((event.at, event.at) for event in story.events)]:
        if at <= moment.since < written + LAG:
            yield at - ROUNDING
    happened = [effect.at for effect in story.effects] + [event.at for event in story.events]
    yield from (at for at in happened if moment.since < at < moment.until)
    yield moment.until + ROUNDING


def _outlived(story: Story, moment: Moment, words: Words) -> str:
    """A complaint about what an open page still says though something happened meanwhile; or an empty text.

    Whenever something has happened, the page has its time to catch up, and what it says must be true once within that.
    """
    match = find(words)
    if match is None or not moment.catches_up:
        return ""
    _, holds, values = match
    facts = Known(story=story, at=0.0, where=words.where, state=words.state, values=values)
    turns = [at for at in story.turns if moment.until < at <= moment.closed_at]
    for turn in turns:
        ends = turn + moment.catches_up
        instants = [*(at for at in turns if turn <= at < ends), ends]
        if ends <= moment.closed_at and not any(holds(replace(facts, at=at)) for at in instants):
            stood = f"from +{moment.until - story.placed:.2f} to +{moment.closed_at - story.placed:.2f} s"
            what = f"{words.where} {words.text!r}" + (f" ({words.state})" if words.state else "")
            passed = f"passed over what happened at +{turn - story.placed:.2f} s"
            then = _ledger(story, replace(moment, until=moment.closed_at))
            return f"out of date: {what} stood there {stood} and {passed}; {then}"
    return ""


def find(words: Words) -> tuple[str, Holds, Mapping[str, str]] | None:
    """The sentence that a text is, when it is true, and the values in it."""
    if words.where == "total":
        return "Total", _is_total, {"amount": words.text}
    if words.where in DATA:
        return words.where.capitalize(), DATA[words.where], {"rows": words.text}
    text = words.text
    if words.where == "subject" and not text.endswith((".", "promised")) and text != "We have your order":
        text += "."
    for table in _tables(words.where):
        # of two sentences, the one that leaves less to its values
        for sentence in sorted(table, key=len, reverse=True):
            if match := _pattern(sentence).fullmatch(text):
                return sentence, table[sentence], match.groupdict()
    return None


def _tables(where: str) -> Sequence[Mapping[str, Holds]]:
    if where == "stage":
        return [STAGE_CLAIMS]
    own = [EMAIL_CLAIMS] if where in EMAIL_PLACES else []
    return [*own, PAGE_CLAIMS, NOTHING]


@cache
def _pattern(sentence: str) -> re.Pattern[str]:
    """The sentence with room for its values, and without tags."""
    plain = re.sub(r"<[^>]*>", "", sentence)
    parts: list[str] = []
    named: set[str] = set()
    for text, *names in _split(plain):
        parts.append(re.escape(text))
        for name in names:
            parts.append(f"(?P={name})" if name in named else f"(?P<{name}>.+?)")
            named.add(name)
    return re.compile("".join(parts))


def _split(plain: str) -> Iterator[tuple[str, ...]]:
    place = 0
    for value in re.finditer(r"\{(\w+)\}|%\((\w+)\)s", plain):
        yield plain[place : value.start()], value[1] or value[2]
        place = value.end()
    yield (plain[place:],)


def _is_total(k: Known) -> bool:
    """Whether the total is what was last reserved for the order, if anything was since it was corrected."""
    corrected = max([e.at for e in k.story.events if e.kind == "corrected" and e.at <= k.at], default=0.0)
    reserved = [e.amount for e in k.story.effects if e.operation == "authorise" and corrected < e.at <= k.at]
    return not reserved or reserved[-1] == k.amount or k.waits_for_customer


def _times_run_backwards(moment: Moment) -> Iterator[str]:
    times = [(words.text, words.time) for words in moment.words if words.time is not None]
    for (before, earlier), (after, later) in pairwise(times):
        if later < earlier:
            yield f"{after!r} stands after {before!r} and has an earlier time, by {earlier - later:.3f} s"
    for text, time in times:
        if time > moment.until + ROUNDING:
            yield f"{text!r} has a time {time - moment.until:.3f} s in the future"


def _placed_anew(moments: Sequence[Moment]) -> Iterator[str]:
    times = {round(moment.placed, 3) for moment in moments if moment.placed}
    if len(times) > 1:
        yield f"the time when it was placed moved by {max(times) - min(times):.3f} s"


def _ledger(story: Story, moment: Moment) -> str:
    entries = [(e.at, e.operation) for e in story.effects] + [
        (e.at, f"[{e.kind} {e.step}]") for e in story.events
    ]
    shown = [f"{name} {at - moment.since:+.2f}" for at, name in sorted(entries) if at < moment.until + 2]
    return "then: " + ", ".join(shown[-12:])
