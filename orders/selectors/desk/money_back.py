"""How much money goes back to customers if orders are cancelled, by what their steps have done with it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from orders.business.editing import charging_steps, reserving_steps
from orders.engine.runtime.sql import fetch
from orders.fields.money import Money
from orders.vocabulary import Outcome

MOST_SUMMED = 2_000
"""The orders of one selection whose money is added up. Beyond them, the sums are shown as "or more"."""

_SUMS = """
    SELECT currency, charged, sum(total)::bigint
      FROM (SELECT o.total, o.currency, bool_or(f.takes) AS charged
              FROM unnest(%(ids)s::uuid[]) AS chosen(id)
              JOIN orders_orderprocess AS p ON p.order_id = chosen.id
              JOIN orders_order AS o ON o.id = chosen.id
              JOIN orders_stepstate AS s ON s.order_id = chosen.id
              JOIN unnest(%(workflows)s::text[], %(versions)s::int[], %(steps)s::text[], %(takes)s::boolean[])
                   AS f(workflow, version, step, takes)
                ON f.workflow = p.workflow AND f.version = p.version AND f.step = s.name
             WHERE o.total > 0 AND p.goal = 'complete' AND s.outcome = ANY(%(outcomes)s)
             GROUP BY o.id) AS returned
     GROUP BY currency, charged ORDER BY currency, charged
"""


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


def money_back(order_ids: Collection[UUID]) -> MoneyBack:
    """What goes back if these orders are cancelled, added up over the first `MOST_SUMMED`. Two queries.

    Money that may have been taken counts as taken: a step with an unknown outcome is compensated too. An order that is
    being compensated already gives back no more.
    """
    ids = list(order_ids)[:MOST_SUMMED]
    flags = _flags(ids)
    if not flags:
        return NOTHING
    workflows, versions, steps, takes = zip(*flags, strict=True)
    rows = fetch(
        _SUMS,
        {
            "ids": ids,
            "workflows": list(workflows),
            "versions": list(versions),
            "steps": list(steps),
            "takes": list(takes),
            "outcomes": [Outcome.DONE.value, Outcome.UNKNOWN.value],
        },
    )
    sums = [(Money(amount=total, currency=currency), charged) for currency, charged, total in rows]
    return MoneyBack(
        charged=tuple(price for price, charged in sums if charged),
        held=tuple(price for price, charged in sums if not charged),
        more=len(order_ids) > len(ids),
    )


def _flags(ids: Sequence[UUID]) -> list[tuple[str, int, str, bool]]:
    """The steps of the orders' workflows that take their value (true), or reserve it (false)."""
    versions = fetch(
        "SELECT DISTINCT workflow, version FROM orders_orderprocess WHERE order_id = ANY(%s)", [list(ids)]
    )
    return [
        (workflow, version, step, takes)
        for workflow, version in versions
        for takes, names in (
            (True, charging_steps(workflow, version)),
            (False, reserving_steps(workflow, version)),
        )
        for step in sorted(names)
    ]
