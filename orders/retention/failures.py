"""Which parts of retention fail. The web watches this (`orders.watchdog`) and tells operators."""

import json
from collections.abc import Mapping

from orders.engine.runtime.sql import run
from orders.engine.runtime.text import keepable_json


def record(job: str, failed: Mapping[str, str]) -> None:
    """Replaces what is recorded of a job's last run: its parts that failed, with their errors."""
    run("DELETE FROM orders_retentionfailure WHERE job = %s AND NOT part = ANY(%s)", [job, list(failed)])
    if not failed:
        return
    run(
        """
        INSERT INTO orders_retentionfailure (part, job, error)
        SELECT key, %s, left(value, 300) FROM json_each_text(%s::json)
            ON CONFLICT (part) DO UPDATE SET job = excluded.job, error = excluded.error
        """,
        [job, json.dumps(keepable_json(dict(failed)))],
    )
