"""The global budget of retries, in the database (I8): one for all orders, agents, schedulers and agent hosts.

It fills at a rate a second and holds two seconds' worth, so that a short burst passes and a storm does not. Its row is
locked after those of processes and circuits, and whoever has locked it waits for nobody else.
"""

from typing import Literal

from orders.engine.runtime.sql import fetch, run

RETRY_BUDGET = "retries"
"""The name of the budget's row."""


def available_retries(*, rate: float) -> int:
    """How many retries the global budget would grant now. Nothing is locked."""
    return int(_budget(rate))


def reserve_retries(retries: int, *, rate: float) -> int:
    """Locks the budget until the transaction ends; returns how many of `retries` it grants.

    What is used of them must be charged at the end of the transaction.
    """
    if retries <= 0:
        return 0
    run(
        "INSERT INTO orders_retrybudget (name, tokens) VALUES (%s, %s) ON CONFLICT (name) DO NOTHING",
        [RETRY_BUDGET, 2 * rate],
    )
    return min(retries, int(_budget(rate, lock="FOR UPDATE")))


def charge_retries(retries: int, *, rate: float) -> None:
    """Takes these retries, which the same transaction has reserved, out of the global budget.

    They leave only when the transaction ends. So the budget is first filled as of now, and then charged: otherwise a
    full budget would let out two seconds' worth, and at once what had been refilled while the transaction went on.
    """
    if retries > 0:
        run(
            """
            UPDATE orders_retrybudget
               SET tokens = least(%(full)s, tokens + %(rate)s * greatest(0, passed)) - %(retries)s,
                   refilled_at = now
              FROM (
                   SELECT now, extract(epoch FROM now - refilled_at)::float8 AS passed
                     FROM orders_retrybudget, clock_timestamp() AS now
                    WHERE name = %(name)s
                   ) AS clock
             WHERE name = %(name)s
            """,
            {"full": 2 * rate, "retries": retries, "rate": rate, "name": RETRY_BUDGET},
        )


def draw_retries(retries: int, *, rate: float) -> int:
    """Takes up to `retries` retries out of the global budget; returns how many were granted. Call it at the end of a
    transaction."""
    granted = reserve_retries(retries, rate=rate)
    charge_retries(granted, rate=rate)
    return granted


def _budget(rate: float, *, lock: Literal["", "FOR UPDATE"] = "") -> float:
    """The retries in the global budget as of now."""
    full_budget = 2 * rate
    rows = fetch(
        f"""
        SELECT tokens, extract(epoch FROM clock_timestamp() - refilled_at)::float8
          FROM orders_retrybudget
         WHERE name = %s
        {lock}
        """,
        [RETRY_BUDGET],
    )
    tokens, passed = rows[0] if rows else (full_budget, 0.0)
    return float(min(full_budget, tokens + max(0.0, passed) * rate))
