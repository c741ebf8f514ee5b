"""What is said of a step that its service declined, or that got no answer, and that its customer can resolve."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from orders.business.editing import customer_words
from orders.business.lines import LineName
from orders.business.refusals import RefusalWords
from orders.business.words import DECLINED_AGAIN, Situation, SituationWords, Words
from orders.engine.branches import declared_name
from orders.selectors import order_waits
from orders.selectors.customer_order import CustomerLine, CustomerOrder, CustomerStep
from orders.selectors.refusals import NO_WORDS, declined_step, is_declined, words_of_refusal
from orders.selectors.tracked_orders import Occurrences
from orders.vocabulary import EventKind
from orders.wording.customers.saying import say


def with_refusal(words: SituationWords, order: CustomerOrder, situation: Situation) -> SituationWords:
    """The words of a situation, as the kind says them of the step that waits for its customer."""
    return with_own(words, order, refusal_words(order, situation))


def with_own(words: SituationWords, order: CustomerOrder, own: RefusalWords) -> SituationWords:
    """The words of a situation, with those that a kind has of its own for the refusal."""
    is_for_nothing = own.nothing_left_headline is not None and has_nothing_left(order)
    headline = own.nothing_left_headline if is_for_nothing else own.headline
    return replace(
        words,
        in_list=words.in_list if own.in_list is None else own.in_list,
        headline=words.headline if headline is None else headline,
        sentence=words.sentence if own.sentence is None else own.sentence,
        icon=words.icon if own.icon is None else own.icon,
    )


def refusal_words(order: CustomerOrder, situation: Situation) -> RefusalWords:
    """What the kind says of the step that waits for its customer, or that she may have resubmitted; nothing if there is
    no such step, or the kind says nothing of it."""
    step = resolvable_step(order, situation)
    return NO_WORDS if step is None else words_of_step(order, step)


def words_of_step(order: CustomerOrder, step: CustomerStep) -> RefusalWords:
    """What the kind says of a step that waits for its customer, or that she may have tried again."""
    if is_declined(step):
        return words_of_refusal(order, step)
    return customer_words(order.workflow).unanswered.get(declared_name(step.name), NO_WORDS)


def refusal_sentences(
    order: CustomerOrder,
    occurrences: Occurrences,
    sentence: Words | None,
    *,
    names: Mapping[str, LineName],
) -> list[str]:
    """What is said of the step that was declined, in which the order's lines have these names; `sentence` if the kind
    has no words for it."""
    step = declined_step(order)
    if step is None:
        return [say(sentence, order)] if sentence else []
    is_said_above = words_of_refusal(order, step).nothing_left_headline is not None and has_nothing_left(
        order
    )
    before = [] if is_said_above else explained(order, step, names)
    return [*before, *declined_sentences(order, occurrences, sentence, step)]


def declined_sentences(
    order: CustomerOrder, occurrences: Occurrences, sentence: Words | None, step: CustomerStep
) -> list[str]:
    """What its customer can do about a step that was declined; `sentence` if the kind has no words for it."""
    own = words_of_refusal(order, step)
    if any((kind, step.name) in occurrences for kind in (EventKind.PAID_AGAIN, EventKind.CORRECTED)):
        general = customer_words(order.workflow).declined_again if own is NO_WORDS else DECLINED_AGAIN
        sentence = general if own.again is None else own.again
    if own.nothing_left is not None and has_nothing_left(order):
        sentence = own.nothing_left
    return [say(sentence, order)] if sentence else []


def unresolved_reason(order: CustomerOrder) -> Words | None:
    """Why an order was cancelled whose customer did not resolve what was declined; None if the kind has no words."""
    step = declined_step(order)
    return None if step is None else words_of_refusal(order, step).reason


def left_of_lines(order: CustomerOrder) -> Mapping[str, int]:
    """How many are left of the products of which an order that waits for its customer needs more, by their codes."""
    step = declined_step(order)
    count_left = words_of_refusal(order, step).count_left if step else None
    detail = (step.error or {}).get("detail") if step else None
    return count_left(detail) if count_left and detail else {}


def refused_country(order: CustomerOrder) -> str:
    """The code of the country to which an order that waits for its customer is not delivered; "" if there is none."""
    step = declined_step(order)
    find_country = words_of_refusal(order, step).refused_country if step else None
    detail = (step.error or {}).get("detail") if step else None
    return find_country(detail) if find_country and detail else ""


def named_lines(order: CustomerOrder, names: Mapping[str, LineName]) -> Sequence[CustomerLine]:
    """The lines of an order, each called what its customer reads elsewhere, or else by its own title."""
    return [replace(line, title=names[line.sku].whole) if line.sku in names else line for line in order.lines]


def has_nothing_left(order: CustomerOrder) -> bool:
    """Whether none of what an order is of is left, so that it cannot be fulfilled with less either."""
    stock = left_of_lines(order)
    return bool(order.lines) and not any(stock.get(line.sku, line.quantity) for line in order.lines)


def resolvable_step(order: CustomerOrder, situation: Situation) -> CustomerStep | None:
    """The step that waits for its customer; of an order in Error, the one that she may have tried again."""
    if situation is Situation.STOPPED:
        hers = {step.step for step in order.correctable if not order_waits.is_declined(step.error)}
        return next((step for step in order.steps if step.name in hers), None)
    return declined_step(order) if situation is Situation.DECLINED else None


def explained(order: CustomerOrder, step: CustomerStep, names: Mapping[str, LineName]) -> list[str]:
    """What the service said of its refusal, as sentences in which the order's lines have these names."""
    own, detail = words_of_refusal(order, step), (step.error or {}).get("detail")
    if own.explain is None or not detail:
        return []
    return [str(words) for words in own.explain(detail, named_lines(order, names))]
