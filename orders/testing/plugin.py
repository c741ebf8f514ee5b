"""A plugin of pytest that makes the test database fit for the roles: `pytest_plugins = ["orders.testing.plugin"]`."""

import pytest
from django.db import connections
from pytest_django import DjangoDbBlocker

from orders.engine.runtime.statements import prepare_statements
from sasweb import database


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:
    """Gives the transactions of the test processes two minutes. The product's own processes keep their 5 s.

    A quick transaction may take longer than 5 s on a busy machine, and some tests are one transaction from end to end.
    """
    prepare_statements()
    options = connections["default"].settings_dict["OPTIONS"]
    options["options"] = options["options"].replace("timeout=5s", "timeout=120s")
    database.LIMIT_IN_MS = 120_000


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Lets the test database be emptied between tests, which the audit log otherwise refuses."""
    with django_db_blocker.unblock(), connections["default"].cursor() as cursor:
        cursor.execute(
            "ALTER TABLE orders_auditentry DISABLE TRIGGER audit_is_not_truncated;"
            "ALTER TABLE orders_auditlink DISABLE TRIGGER audit_links_are_not_truncated"
        )
