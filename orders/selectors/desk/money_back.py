"""How much money goes back to customers if orders are cancelled, by what their steps have done with it."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from orders.business.editing import charging_steps, reserving_steps
from orders.engine.runtime.sql import fetch, recordset
from orders.fields.money import Money
from orders.models import Order, OrderProcess
from orders.vocabulary import Goal, Outcome

MOST_SUMMED = 2_000
"""The orders of one selection whose money is added up. Beyond them, the sums are shown as "or more"."""

# An item of a step, named `step:1`, does what the step is declared to do (docs/adr/0039). The steps of an order are
# looked up once, whatever they do.
_REFUNDS = """
    SELECT o.id, o.total, o.currency, bool_or(split_part(s.name, ':', 1) = ANY(f.takes)) AS is_charged
      FROM unnest(%(ids)s::uuid[]) AS chosen(id)
      JOIN orders_orderprocess AS p ON p.order_id = chosen.id
      JOIN json_to_recordset(%(flags)s::json) AS f(workflow text, version int, takes text[], reserves text[])
        ON f.workflow = p.workflow AND f.version = p.version
      JOIN orders_stepstate AS s ON s.order_id = chosen.id AND s.outcome = ANY(%(outcomes)s)
       AND (split_part(s.name, ':', 1) = ANY(f.takes) OR split_part(s.name, ':', 1) = ANY(f.reserves))
      JOIN orders_order AS o ON o.id = chosen.id
     WHERE o.total > 0 AND p.goal = 'complete'
     GROUP BY o.id
"""
_SUMS = f"""
    SELECT currency, NOT is_charged, sum(total) FROM ({_REFUNDS}) AS refunds GROUP BY currency, is_charged
"""
_VERSIONS = """
    SELECT DISTINCT p.workflow, p.version
      FROM unnest(%s::uuid[]) AS chosen(id) JOIN orders_orderprocess AS p ON p.order_id = chosen.id
"""
_WORTH = """
    SELECT o.currency, false, sum(o.total)
      FROM unnest(%s::uuid[]) AS chosen(id) JOIN orders_order AS o ON o.id = chosen.id
     WHERE o.total > 0
     GROUP BY o.currency
"""


@dataclass(frozen=True, kw_only=True)
class Refund:
    """What cancelling one order gives back: its `price`, which was or may have been charged, or `is_held` only."""

    price: Money
    is_held: bool = False


@dataclass(frozen=True, kw_only=True)
class MoneyBack:
    """What cancelling gives back: sums that were `charged`, or may have been, and sums that are only `held`.

    There is one sum for each currency. With `more`, there are orders that were not added up.
    """

    charged: Sequence[Money] = ()
    held: Sequence[Money] = ()
    more: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is charged or held."""
        return not (self.charged or self.held)


NOTHING = MoneyBack()


@dataclass(frozen=True, kw_only=True)
class Cancellation:
    """What cancelling orders does: how many are cancelled, and what goes `back`."""

    orders: int
    back: MoneyBack


def money_back(order_ids: Collection[UUID]) -> MoneyBack:
    """What goes back if these orders are cancelled, added up over the first `MOST_SUMMED`. Two queries."""
    ids = list(order_ids)[:MOST_SUMMED]
    values = _values(ids)
    rows = fetch(_SUMS, values) if values else []
    return replace(_sums(rows), more=len(order_ids) > len(ids))


def refunds_of(order_ids: Sequence[UUID]) -> dict[UUID, Refund]:
    """What goes back of each of these orders if it is cancelled, for those that give back anything. Two queries.

    Money that may have been taken counts as taken: a step with an unknown outcome is compensated too. An order that is
    being compensated already gives back no more.
    """
    values = _values(order_ids)
    rows = fetch(_REFUNDS, values) if values else []
    return {
        order_id: Refund(price=Money(amount=total, currency=currency), is_held=not is_charged)
        for order_id, total, currency, is_charged in rows
    }


def totals_of(order_ids: Sequence[UUID]) -> dict[UUID, Refund]:
    """The value of each of these orders that has one. One query."""
    rows = Order.objects.filter(pk__in=order_ids, total__gt=0).values_list("pk", "total", "currency")
    return {pk: Refund(price=Money(amount=total or 0, currency=currency)) for pk, total, currency in rows}


def total_back(refunds: Iterable[Refund]) -> MoneyBack:
    """What refunds come to, in each currency."""
    return _sums((refund.price.currency, refund.is_held, refund.price.amount) for refund in refunds)


def _sums(amounts: Iterable[tuple[str, bool, int]]) -> MoneyBack:
    """What amounts come to, each with its currency and whether it is only held."""
    sums: Counter[tuple[str, bool]] = Counter()
    for currency, is_held, amount in amounts:
        sums[currency, is_held] += int(amount)
    prices = [(Money(amount=sums[key], currency=key[0]), key[1]) for key in sorted(sums)]
    return MoneyBack(
        charged=tuple(price for price, is_held in prices if not is_held),
        held=tuple(price for price, is_held in prices if is_held),
    )


def together(parts: Iterable[MoneyBack]) -> MoneyBack:
    """The sums of several added up."""
    parts = list(parts)
    refunds = [
        *(Refund(price=price) for part in parts for price in part.charged),
        *(Refund(price=price, is_held=True) for part in parts for price in part.held),
    ]
    return replace(total_back(refunds), more=any(part.more for part in parts))


def worth_of(order_ids: Sequence[UUID]) -> MoneyBack:
    """What these orders are worth, as if it were charged, added up over the first `MOST_SUMMED`. One query."""
    ids = order_ids[:MOST_SUMMED]
    return replace(_sums(fetch(_WORTH, [_id_array(ids)])), more=len(order_ids) > len(ids))


def cancellation_of(order_ids: Collection[UUID], refunds: Mapping[UUID, Refund]) -> Cancellation:
    """What cancelling these orders does, which give back these `refunds`. One query.

    Orders that are gone, or are being cancelled already, do not count.
    """
    uncancelled = OrderProcess.objects.filter(pk__in=order_ids, goal=Goal.COMPLETE)
    return Cancellation(orders=uncancelled.count(), back=total_back(refunds.values()))


def _values(order_ids: Sequence[UUID]) -> dict[str, object]:
    """What `_REFUNDS` asks for; empty if none of these orders gives anything back."""
    ids = _id_array(order_ids)
    flags = [
        {
            "workflow": workflow,
            "version": version,
            "takes": sorted(charging_steps(workflow, version)),
            "reserves": sorted(reserving_steps(workflow, version)),
        }
        for workflow, version in fetch(_VERSIONS, [ids])
    ]
    flags = [each for each in flags if each["takes"] or each["reserves"]]
    outcomes = [Outcome.DONE.value, Outcome.UNKNOWN.value]
    return {"ids": ids, "flags": recordset(flags), "outcomes": outcomes} if flags else {}


def _id_array(order_ids: Iterable[UUID]) -> str:
    """The ids as the text of an array, which is cast in the statement: psycopg takes several times as long."""
    return f"{{{','.join(map(str, order_ids))}}}"
