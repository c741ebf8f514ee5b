"""What was so at a moment, from the ledgers of the remote services, an order's history and what the test did."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

REVERSALS = {"release": "reserve", "void": "authorise", "refund": "capture", "cancel": "create"}
ANSWERS = ("paid_again", "corrected", "compensation_requested")
"""The events with which a wait for the customer ends."""
SLOW_CARDS = frozenset({"card_slow", "card_hangs"})
"""The cards of banks that take longer than an attempt may."""
LAG = 1.0
"""Seconds that an event may have before it can be read: it has the time at which its transaction began."""
ROUNDING = 0.001
"""Seconds. The browser's clock shows milliseconds."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """One effect in a ledger; `amount` is in minor units, and 0 where there is no money in it."""

    operation: str
    at: float
    amount: int = 0


@dataclass(frozen=True, kw_only=True)
class Occurred:
    """One event of the order's history."""

    kind: str
    step: str
    at: float


@dataclass(frozen=True, kw_only=True)
class FaultSpan:
    """When a remote service had a fault."""

    service: str
    name: str
    value: object
    since: float
    until: float


@dataclass(frozen=True, kw_only=True)
class Story:
    """All that happened to an order, once it is over. Times are in seconds since 1970.

    `emails` has the subjects that arrived. `cards` are the payment methods, by when they were given, `lines` how many
    were ordered of each title at first. `versions` are the order's data, and those that it had before it was corrected,
    in the order of time; `changes` are when its customer began to correct it.
    """

    effects: Sequence[Effect] = ()
    events: Sequence[Occurred] = ()
    emails: Sequence[tuple[float, str]] = ()
    faults: Sequence[FaultSpan] = ()
    alerts: Sequence[float] = ()
    cards: Sequence[tuple[float, str]] = ()
    lines: Mapping[str, int] = field(default_factory=dict)
    versions: Sequence[Mapping[str, Any]] = ()
    changes: Sequence[float] = ()
    placed: float = 0.0
    promise: float = 0.0

    def recorded(self, effect: Effect) -> float:
        """When the order's history went on after an effect; the time of the effect if it never did."""
        return min([event.at for event in self.events if event.at >= effect.at], default=effect.at)

    @property
    def turns(self) -> Sequence[float]:
        """The moments at which a page may have to say something else: after effects and events, after a decline that
        every page must know of, and once it is late."""
        begun = [self.placed, *(event.at for event in self.events if event.kind in ANSWERS)]
        happened = [effect.at for effect in self.effects] + [event.at for event in self.events]
        declined = [event.at + LAG + ROUNDING for event in self.events if event.kind == "step_declined"]
        return sorted([*happened, *declined, *(at + self.promise + LAG + ROUNDING for at in begun)])


@dataclass(frozen=True, kw_only=True)
class Known:
    """A story up to a moment, and what the sentence that is judged says: its named `values`, `where` it stands, and as
    a stage its `state`."""

    story: Story
    at: float
    where: str = ""
    state: str = ""
    values: Mapping[str, str] = field(default_factory=dict)

    # --- the ledgers

    def count(self, operation: str) -> int:
        """How often an operation took effect."""
        return sum(effect.operation == operation for effect in self._effects())

    def left(self, operation: str) -> int:
        """How many of its effects are not reversed."""
        reversal = next(name for name, forward in REVERSALS.items() if forward == operation)
        return self.count(operation) - self.count(reversal)

    def total(self, operation: str) -> int:
        """The sum of an operation's amounts, in minor units."""
        return sum(effect.amount for effect in self._effects() if effect.operation == operation)

    @property
    def charged(self) -> int:
        """What is charged and not refunded, in minor units."""
        return self.total("capture") - self.total("refund")

    @property
    def held(self) -> int:
        """What is reserved on cards and neither charged nor released, in minor units."""
        return max(self.total("authorise") - self.total("void") - self.total("capture"), 0)

    @property
    def is_untouched(self) -> bool:
        """Whether no money was ever reserved or charged."""
        return not self.count("authorise") and not self.count("capture")

    @property
    def amount(self) -> int:
        """The amount that the sentence names, in minor units."""
        return minor_units(self.values["amount"])

    # --- the history

    def happened(self, kind: str, step: str = "") -> bool:
        """Whether there is such an event of the order, or of the step if one is named."""
        return any(event.kind == kind and step in ("", event.step) for event in self._events())

    def is_known_done(self, step: str) -> bool:
        """Whether a step was done, and is not asked anew since."""
        done = [
            e.at for e in self._events() if e.step == step and e.kind in ("step_completed", "settled_done")
        ]
        renewed = [e.at for e in self._events() if e.step == step and e.kind == "step_renewed"]
        return max(done, default=0.0) > max(renewed, default=0.0)

    def failed(self, *services: str) -> bool:
        """Whether one of these remote services has had a fault since the order was placed."""
        spans = [span for span in self.story.faults if span.service in services and span.since <= self.at]
        hangs = "payments" in services and any(card in SLOW_CARDS for _, card in self._cards())
        return hangs or any(span.until >= self.story.placed for span in spans)

    @property
    def waits_for_customer(self) -> bool:
        """Whether a step was declined, and the customer has changed nothing since."""
        return self._declined_until(self.at)

    @property
    def surely_waits_for_customer(self) -> bool:
        """The same, for so long that every page must say so."""
        return self._declined_until(self.at - LAG) and self.waits_for_customer

    def _declined_until(self, end: float) -> bool:
        turns = [e.kind for e in self.story.events if e.at <= end and e.kind in ("step_declined", *ANSWERS)]
        return bool(turns) and turns[-1] == "step_declined"

    @property
    def is_cancelled(self) -> bool:
        """Whether it was to be cancelled, by whomever."""
        return self.happened("compensation_requested")

    @property
    def is_late(self) -> bool:
        """Whether more time has passed than was promised, since the customer last changed something."""
        return self._time_taken() > self.story.promise - LAG

    @property
    def surely_late(self) -> bool:
        """The same, for so long that every page must say so."""
        return self._time_taken() > self.story.promise + LAG

    def _time_taken(self) -> float:
        begun = [event.at for event in self._events() if event.kind in ANSWERS]
        return self.at - max([self.story.placed, *begun])

    @property
    def card(self) -> str:
        """The payment method that was given last."""
        return self._cards()[-1][1]

    def got(self, words: str) -> bool:
        """Whether an email has arrived whose subject has these words."""
        return any(words in subject for at, subject in self.story.emails if at <= self.at)

    @property
    def data(self) -> Mapping[str, Any]:
        """The order's data. A correction has an event of each step that it changes."""
        times = [event.at for event in self._events() if event.kind == "corrected"]
        begun = [sum(change <= at for change in self.story.changes) for at in times]
        return self.story.versions[max(begun, default=0)]

    @property
    def alerted(self) -> bool:
        """Whether the team has been alerted about this order."""
        return any(at <= self.at + LAG for at in self.story.alerts)

    def stock(self, title: str) -> int | None:
        """How many of a product the warehouse says that it has; None if enough."""
        values = [s.value for s in self.story.faults if s.name == "stock" and s.since <= self.at]
        return dict(values[-1]).get(title.lower().replace(" ", "-")) if values else None  # type: ignore[call-overload]

    def _effects(self) -> Sequence[Effect]:
        return [effect for effect in self.story.effects if effect.at <= self.at]

    def _events(self) -> Sequence[Occurred]:
        return [event for event in self.story.events if event.at <= self.at]

    def _cards(self) -> Sequence[tuple[float, str]]:
        return [card for card in self.story.cards if card[0] <= self.at]


Holds = Callable[[Known], bool]


def minor_units(text: str) -> int:
    """An amount as customers read it, in minor units: 3900 for "€39.00"."""
    digits = "".join(character for character in text if character.isdigit())
    assert digits, f"{text!r} is no amount"
    return int(digits)
