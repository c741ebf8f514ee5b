"""The access levels of operators, as groups with permissions. Each level includes the one before it."""

from collections.abc import Mapping, Sequence

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Group, Permission, User
from django.db.models import QuerySet

from orders.models.permissions import accounts_with

VIEW = "orders.view_console"
OPERATE = "orders.operate"
ADMINISTER = "orders.administer"

VIEWER = (VIEW,)
OPERATOR = (*VIEWER, OPERATE)
ADMIN = (
    *OPERATOR,
    ADMINISTER,
    *(f"auth.{act}_user" for act in ("view", "add", "change")),
    "auth.view_group",
)
LEVELS: Mapping[str, Sequence[str]] = {"viewer": VIEWER, "operator": OPERATOR, "admin": ADMIN}
"""The permissions that migration 0004 gave each level. From then on an installation manages its own groups."""

OPERATOR_NAMESPACES = frozenset({"console", "admin"})
"""The URL namespaces that only operators may use."""


def make_groups() -> None:
    """Makes the groups that are missing, with their permissions. Existing groups stay as they are."""
    for name, codes in LEVELS.items():
        group, is_new = Group.objects.get_or_create(name=name)
        if is_new:
            group.permissions.set(permissions(codes))
            if codes is ADMIN:
                group.permissions.add(*_of_businesses())


def _of_businesses() -> list[Permission]:
    """The permissions to view, add and change what the businesses keep in tables of their own."""
    labels = [config.label for config in apps.get_app_configs() if config.name in settings.BUSINESSES]
    return list(
        Permission.objects.filter(content_type__app_label__in=labels, codename__regex="^(view|add|change)_")
    )


def operators() -> QuerySet[User]:
    """The accounts that may view the console, and those that could before they were closed."""
    return accounts_with(VIEW)


def may_operate() -> QuerySet[User]:
    """The open accounts that may act in the console, by name."""
    return accounts_with(OPERATE).filter(is_active=True).order_by("username")


def permissions(codes: Sequence[str]) -> list[Permission]:
    """Returns the permissions with these codes ("orders.operate")."""
    pairs = {tuple(code.split(".")) for code in codes}
    matches = Permission.objects.select_related("content_type").filter(
        codename__in=[codename for _, codename in pairs]
    )
    return [match for match in matches if (match.content_type.app_label, match.codename) in pairs]
