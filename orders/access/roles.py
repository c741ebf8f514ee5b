"""The roles of who works here, as groups with permissions. Each may what the one before may, and more."""

from collections.abc import Mapping, Sequence

from django.contrib.auth.models import Group, Permission

VIEWER = ("orders.view_console",)
OPERATOR = (*VIEWER, "orders.operate")
ADMIN = (
    *OPERATOR,
    "orders.administer",
    *(f"orders.{act}_product" for act in ("view", "add", "change")),
    *(f"auth.{act}_user" for act in ("view", "add", "change")),
    "auth.view_group",
)
ROLES: Mapping[str, Sequence[str]] = {"viewer": VIEWER, "operator": OPERATOR, "admin": ADMIN}
"""What `migrate` gave to each role, in migration 0004; afterwards the groups are the installation's own."""


def make_roles() -> None:
    """Makes the groups that are missing, with their permissions, and leaves those that are there alone."""
    for name, codes in ROLES.items():
        group, is_new = Group.objects.get_or_create(name=name)
        if is_new:
            group.permissions.set(permissions(codes))


def permissions(codes: Sequence[str]) -> list[Permission]:
    """The permissions of these codes ("orders.operate")."""
    wanted = {tuple(code.split(".")) for code in codes}
    found = Permission.objects.select_related("content_type").filter(
        codename__in=[codename for _, codename in wanted]
    )
    return [one for one in found if (one.content_type.app_label, one.codename) in wanted]
