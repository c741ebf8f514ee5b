"""What agents answered of all the orders that have a product, wherever those are."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from orders.engine.runtime.sql import fetch

_ANSWERS = """
    SELECT step.result::text
      FROM orders_orderline AS line
      JOIN orders_stepstate AS step USING (order_id)
     WHERE line.sku = %(sku)s AND step.name = %(step)s AND step.state = 'completed' AND step.result IS NOT NULL
     UNION ALL
    SELECT (step -> 'result')::text
      FROM orders_archivedorder AS archived
     CROSS JOIN LATERAL jsonb_array_elements(archived.document -> 'steps') AS step
     WHERE archived.skus @> ARRAY[%(sku)s]::varchar[]
       AND step ->> 'name' = %(step)s AND step ->> 'state' = 'completed' AND step -> 'result' <> 'null'
"""
"""Both parts find the orders by an index of the product. What was reversed is not completed any more."""


def answers_about(sku: str, *, step: str) -> Sequence[Mapping[str, Any]]:
    """What the agent of a step answered, of each order of this product that has completed it. One statement."""
    answers = (json.loads(result) for (result,) in fetch(_ANSWERS, {"sku": sku, "step": step}))
    return [answer for answer in answers if isinstance(answer, Mapping)]
