"""A page of the audit log looks at so many entries, however many there are and however rare those are that it wants."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from orders.engine.runtime.sql import database_now, run
from orders.selectors.desk import audit
from orders.selectors.desk.audit import EXAMINED, AuditFilter
from tests.support.plans import ran_by

pytestmark = pytest.mark.django_db

ENTRIES = 25_000


def nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def test_a_page_reads_no_more_entries_than_it_says() -> None:
    now = database_now()
    run(
        """
        INSERT INTO orders_auditentry (at, actor, ip_address, act, target, allowed, result, reason)
        SELECT %s - (%s - n) * interval '1 minute', 'olga', '', 'note', 'group 1', true, '', ''
          FROM generate_series(1, %s) AS n
        """,
        [now, ENTRIES, ENTRIES],
    )
    run("ANALYZE orders_auditentry")
    filters = [AuditFilter(), AuditFilter(actor="otto"), AuditFilter(act="edit"), AuditFilter(allowed="no")]
    since = [None, now - timedelta(days=1), now - timedelta(days=15)]
    until = [None, now - timedelta(hours=12)]
    for audit_filter, first, last in product(filters, since, until):
        statements = ran_by(lambda: audit.page(audit_filter, since=first, until=last, limit=50))  # noqa: B023 - at once
        assert len(statements) <= 4
        for statement in statements:
            for node in nodes(statement.explain("ANALYZE, ")["Plan"]):
                read = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
                assert read <= EXAMINED + 1, (audit_filter, first, last, statement.sql)
