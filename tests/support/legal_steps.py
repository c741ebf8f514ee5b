"""The rows of steps that the database takes, of all that a test can think of."""

from collections.abc import Sequence
from typing import Any

from orders.engine.runtime.sql import fetch, recordset, run


def legal(steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of these steps, given by the same columns, that no constraint of their table refuses."""
    run("CREATE TEMP TABLE made (LIKE orders_stepstate INCLUDING DEFAULTS) ON COMMIT DROP")
    for (column,) in fetch(
        "SELECT attname FROM pg_attribute WHERE attrelid = 'made'::regclass AND attnum > 0 AND attnotnull"
    ):
        run(f"ALTER TABLE made ALTER COLUMN {column} DROP NOT NULL")
    named = ", ".join(steps[0])
    run(
        f"INSERT INTO made (id, answered, {named}) SELECT position, 0, {named} FROM json_populate_recordset("
        "NULL::made, %s::json)",
        [recordset({**step, "position": number} for number, step in enumerate(steps))],
    )
    checks = fetch(
        "SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint"
        " WHERE conrelid = 'orders_stepstate'::regclass AND contype = 'c'"
    )
    allowed = " AND ".join(f"({check}) IS NOT FALSE" for (check,) in checks)
    return [steps[number] for (number,) in fetch(f"SELECT id FROM made WHERE {allowed}")]
