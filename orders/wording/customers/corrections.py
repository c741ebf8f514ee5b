"""What is said of an order while something that its customer has changed is corrected."""

from dataclasses import replace

from orders.business.editing import customer_words
from orders.business.words import Situation, SituationWords
from orders.selectors.customer_order import CustomerOrder
from orders.selectors.tracked_orders import Occurrence, Occurrences
from orders.vocabulary import EventKind

CORRECTIONS = (EventKind.PAID_AGAIN, EventKind.CORRECTED)


def with_correction(
    words: SituationWords, order: CustomerOrder, occurrences: Occurrences, situation: Situation
) -> SituationWords:
    """The words of a situation, as the kind says them of the field that the customer has changed."""
    if situation is not Situation.CORRECTING:
        return words
    own = customer_words(order.workflow).corrections
    special = next((own[field] for field in _changed_fields(order, occurrences) if field in own), None)
    if special is None:
        return words
    own_words = {name: text for name, text in vars(special).items() if text is not None}
    return replace(words, **own_words)


def _changed_fields(order: CustomerOrder, occurrences: Occurrences) -> list[str]:
    """The fields of the correction for which something is reversed now; none if nobody knows which it is, as after an
    operator's edit."""
    backward = [step.name for step in order.steps if step.is_backward]
    if not any(_is_since_correction(name, occurrences) for name in backward):
        return []
    after = (event.detail.get("after") or {} for event in _corrections(occurrences))
    return list(next(filter(None, after), ()))


def _is_since_correction(step: str, occurrences: Occurrences) -> bool:
    """Whether the customer's correction has the step reversed first, and that is not over."""
    corrected = [event for kind in CORRECTIONS if (event := occurrences.get((kind, step)))]
    renewed = occurrences.get((EventKind.STEP_RENEWED, step))
    return any(not renewed or renewed.at < event.at for event in corrected)


def _corrections(occurrences: Occurrences) -> list[Occurrence]:
    """The customer's corrections, the last first."""
    events = [event for (kind, _), event in occurrences.items() if kind in CORRECTIONS]
    return sorted(events, key=lambda event: event.at, reverse=True)
