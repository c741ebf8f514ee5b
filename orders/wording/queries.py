"""Reads the queries that people write, and says what is wrong with those that cannot be read."""

from collections.abc import Mapping

from orders.selectors.desk import known_words
from orders.selectors.desk.completion import complete
from orders.selectors.desk.query import Condition, Query
from orders.selectors.desk.query_fields import STANDING_WORDS, STANDINGS, STATE_WORDS
from orders.vocabulary import ProcessState
from orders.wording.runbooks import RUNBOOKS
from orders.wording.standings import meaning

_STATES: Mapping[str, str] = {
    ProcessState.PENDING: "Nothing has been done yet.",
    ProcessState.PROCESSING: "Steps are under way, or wait.",
    ProcessState.PROCESSED: "Every step is completed.",
    ProcessState.ERROR: "It failed. An operator has to decide what to do.",
    ProcessState.COMPENSATED: "It is cancelled: everything that can be reversed has been.",
}
EXPLANATIONS: Mapping[str, Mapping[str, str]] = {
    "state": {STATE_WORDS.get(state, state): text for state, text in _STATES.items()},
    "standing": {STANDING_WORDS.get(name, name): meaning(kind) for name, kind in STANDINGS.items()},
}
"""What the words for the values of a field mean, by field and word."""


def read_query(text: str) -> Query:
    """Reads a query of the list of orders. Raises `QueryError`, also for a name that nothing here has."""
    return known_words.read_query(text, codes=RUNBOOKS)


def completions(field: str, beginning: str) -> list[str]:
    """The first values of a field for what has been typed of one, as they are written in a query."""
    return complete(field, beginning, codes=RUNBOOKS)


def check_name(field: str, value: str) -> None:
    """Raises `QueryError` if nothing here has the name that a field is to have."""
    known_words.check([Condition(name=field, values=(value,))], codes=RUNBOOKS)
