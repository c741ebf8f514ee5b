"""Reads the queries that people write, and says what is wrong with those that cannot be read."""

from orders.selectors.desk import known_words
from orders.selectors.desk.completion import complete
from orders.selectors.desk.query import Condition, Query
from orders.wording.runbooks import RUNBOOKS


def read_query(text: str) -> Query:
    """Reads a query of the list of orders. Raises `QueryError`, also for a name that nothing here has."""
    return known_words.read_query(text, codes=RUNBOOKS)


def completions(field: str, beginning: str) -> list[str]:
    """The first values of a field for what has been typed of one, as they are written in a query."""
    return complete(field, beginning, codes=RUNBOOKS)


def check_name(field: str, value: str) -> None:
    """Raises `QueryError` if nothing here has the name that a field is to have."""
    known_words.check([Condition(name=field, values=(value,))], codes=RUNBOOKS)
