"""Which accounts have a permission: found from the permission, so that a million customers cost nothing."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, User
from django.db.models import QuerySet

from orders.access.levels import LEVELS, OPERATE, VIEW, make_groups, may_operate, operators
from orders.engine.runtime.sql import run
from orders.models.permissions import accounts_with
from tests.support.people import person
from tests.support.plans import plans_of

pytestmark = pytest.mark.django_db

CUSTOMERS = """
INSERT INTO auth_user (username, password, email, first_name, last_name, is_superuser, is_staff, is_active, date_joined)
SELECT 'c' || n, '', '', '', '', false, false, true, now() FROM generate_series(1, 20000) AS n
"""


def test_an_account_has_a_permission_by_itself_by_a_group_or_as_a_superuser() -> None:
    make_groups()
    person("customer")
    person("viewer")
    person("operator")
    User.objects.create(username="grouped").groups.set(Group.objects.filter(name__in=LEVELS))
    User.objects.create(username="root", is_superuser=True)
    User.objects.create(username="closed", is_superuser=True, is_active=False)
    for permission in (VIEW, OPERATE):
        expected = User.objects.with_perm(
            permission, is_active=None, backend="django.contrib.auth.backends.ModelBackend"
        )
        assert set(accounts_with(permission)) == set(expected)
    assert {user.username for user in operators()} == {"viewer", "operator", "grouped", "root", "closed"}
    assert [user.username for user in may_operate()] == ["grouped", "operator", "root"]


@pytest.mark.parametrize("read", [operators, may_operate])
def test_operators_are_found_without_a_look_at_the_customers(read: Callable[[], QuerySet[User]]) -> None:
    run(CUSTOMERS)
    run("ANALYZE auth_user")
    (plan,) = plans_of(lambda: list(read()))
    scanned = {node["Relation Name"] for node in plan.nodes() if node["Node Type"] == "Seq Scan"}
    assert "auth_user" not in scanned
    assert "account_superuser" in plan.indexes
