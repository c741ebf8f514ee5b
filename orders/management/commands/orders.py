"""`manage.py orders`: the orders, and where each of them stands."""

from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.core.management.base import CommandParser

from orders.fields.order_numbers import MISTAKEN, spoken_number
from orders.management.operator_command import (
    DONE,
    ReadingCommand,
    limit_of,
    query_of_view,
    readable_query,
    short,
)
from orders.management.tables import Column, Fit, paragraph, table
from orders.selectors.database_clock import now
from orders.selectors.desk.bounds import MOST_COUNTED
from orders.selectors.desk.filters import NOTHING_DONE, OrderFilter
from orders.selectors.desk.order_rows import OrderProgress
from orders.selectors.desk.order_search import Search
from orders.selectors.desk.overview import count_queued
from orders.selectors.desk.query_fields import FIELDS
from orders.selectors.desk.query_values import BadValueError
from orders.selectors.desk.search import count, count_by_state, most_counted, page
from orders.selectors.desk.set_aside import count_set_aside
from orders.selectors.desk.supervisor import retry_limits
from orders.selectors.paging import Position
from orders.vocabulary import ProcessState
from orders.wording.standings import summary as standing_summary
from orders.wording.units import bounded, counted, short_duration

_STATES = FIELDS["state"]
MOST_PAGES = 10
"""How many pages of the list are looked at to find as many orders as are asked for."""


class Command(ReadingCommand):
    help = "List orders, newest first: where each stands, at which step, and on which attempt."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "query",
            nargs="*",
            help="as in the console's list: state:error 'total:>200' tidal (docs/operations.md)",
        )
        parser.add_argument(
            "--view",
            metavar="NAME",
            help="only orders of this saved view (and of the query, if there is one)",
        )
        parser.add_argument(
            "--state",
            type=_state,
            metavar="STATE",
            help=f"only orders in this state: {', '.join(_STATES.allowed)}",
        )
        parser.add_argument(
            "--waiting",
            action="store_true",
            help="only orders that are waiting for a retry, the customer, a scheduler or an agent",
        )
        parser.add_argument("--limit", type=int, default=30, help="list at most this many (default: 30)")

    def work(self, options: dict[str, Any]) -> int:
        moment, limit = now(), limit_of(options)
        order_filter = OrderFilter(
            q=_query(options),
            state=options["state"] or "",
            waiting=NOTHING_DONE if options["waiting"] else "",
        )
        order_search = Search(order_filter, moment)
        orders, is_all = newest(order_search, limit)
        listing = {
            "orders": orders,
            "matching": len(orders) if is_all else count(order_filter, now=moment, search=order_search),
            "by_state": count_by_state(),
            "queued": count_queued(),
            "set_aside": count_set_aside(),
        }
        if options["json"]:
            numbered = [{**asdict(order), "number": spoken_number(order.order_id)} for order in orders]
            self.show_json({**listing, "orders": numbered})
            return DONE
        if orders:
            self.stdout.write(self._table(orders, moment))
            self.stdout.write("")
        elif order_filter.is_mistaken_number:
            self.stdout.write(f"no matching orders. {MISTAKEN}")
        elif is_all:
            self.stdout.write("no orders yet" if order_filter.is_empty else "no matching orders")
        else:
            self.stdout.write("no matching orders among the newest; older ones were not searched")
        self.stdout.write(paragraph(summary(listing, order_filter), width=self.width))
        return DONE

    def _table(self, orders: Sequence[OrderProgress], moment: datetime) -> str:
        columns = (
            Column("ORDER"),
            Column("NUMBER"),
            Column("STATE", fit=Fit.WRAP, least=24, style=_style),
            Column("TIME", right=True),
            Column("STEP", fit=Fit.CUT, least=17),
            Column("ATTEMPT", right=True),
            Column("AGENT", fit=Fit.CUT, least=9),
            Column("FAIL", right=True),
            Column("LOCKED BY", fit=Fit.CUT),
        )
        rows = [_row(order, moment) for order in orders]
        return table(columns, rows, width=self.width, coloured=self.is_coloured)


def _state(word: str) -> str:
    """The state that is called so by the pages, or by the API."""
    try:
        return _STATES.read(word)
    except BadValueError as error:
        raise ArgumentTypeError(f"“{word}” is no state. {error}") from error


def _query(options: Mapping[str, Any]) -> str:
    words = " ".join(options["query"])
    if options["view"]:
        words = f"{query_of_view(options['view'])} {words}".strip()
    return readable_query(words)


def newest(order_search: Search, limit: int) -> tuple[list[OrderProgress], bool]:
    """The newest orders that match, and whether they are all. Looks further than one page of the console does."""
    orders: list[OrderProgress] = []
    after: Position | None = None
    for _ in range(MOST_PAGES):
        matches = page(
            order_search.order_filter,
            after=after,
            limit=limit - len(orders),
            retry_limits=retry_limits(),
            now=order_search.now,
            search=order_search,
        )
        orders += [row.order for row in matches.orders]
        after = matches.after
        if after is None or len(orders) == limit:
            break
    return orders, after is None


def _style(state: str) -> str:
    if state.startswith(("error", "overdue", "cancellation failed")):
        return "bold red"
    if state.startswith(("paused", "retrying", "waiting", "at risk", "being cancelled", "long wait")):
        return "yellow"
    return ""


def _row(order: OrderProgress, moment: datetime) -> list[object]:
    return [
        short(order.order_id),
        spoken_number(order.order_id),
        _standing(order, moment),
        f"{'took ' if order.has_ended else ''}{short_duration(order.seconds)}",
        "\n".join(step.name for step in order.steps) or None,
        "\n".join(str(step.attempt) for step in order.steps) or None,
        "\n".join(step.agent for step in order.steps) or None,
        order.failure_count,
        order.locked_by and order.locked_by.removeprefix("scheduler:"),
    ]


def _standing(order: OrderProgress, moment: datetime) -> str:
    """Where an order stands. One in Error is there whether or not it is paused."""
    standing = standing_summary(order.standing, now=moment, code=order.code)
    if not order.is_paused:
        return standing
    return f"paused, {standing}" if order.state == ProcessState.ERROR else "paused"


def summary(listing: Mapping[str, Any], order_filter: OrderFilter) -> str:
    """How many orders match, how many are in each state, and how many submissions have not become orders yet."""
    by_state = _by_word(listing["by_state"])
    states = ", ".join(
        f"{bounded(number, MOST_COUNTED)} {word}" for word, number in by_state.items() if number
    )
    total = counted(sum(by_state.values()), "order")
    if any(number > MOST_COUNTED for number in by_state.values()):
        total = f"more than {bounded(MOST_COUNTED, MOST_COUNTED)} orders"
    shown, matching = len(listing["orders"]), listing["matching"]
    parts = [] if order_filter.is_empty or matching != shown else [f"{counted(shown, 'order')} found"]
    parts.append(f"{'' if order_filter.is_empty else 'in all '}{total}{f': {states}' if states else ''}")
    if listing["queued"]:
        parts.append(f"{counted(listing['queued'], 'submission', most=MOST_COUNTED)} in the queue")
    if listing["set_aside"]:
        parts.append(f"{bounded(listing['set_aside'], MOST_COUNTED)} set aside (manage.py set_aside)")
    if matching is None and shown:
        parts.append(f"shown: the newest {shown:,} that match; how many do is not counted")
    elif matching is not None and matching > shown:
        parts.append(f"shown: {shown:,} of {bounded(matching, most_counted(order_filter))} that match")
    return "; ".join(parts)


def _by_word(by_state: Mapping[str, int]) -> dict[str, int]:
    """The numbers by the words of the pages. Orders that are pending or being processed are under way."""
    numbers: dict[str, int] = {}
    for state, number in by_state.items():
        is_open = state in (ProcessState.PENDING, ProcessState.PROCESSING)
        word = "under way" if is_open else _STATES.written(state)
        numbers[word] = numbers.get(word, 0) + number
    return numbers
