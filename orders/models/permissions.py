"""The accounts that have a permission, found from the permission: most accounts are customers', which have none."""

from django.contrib.auth.models import Permission, User
from django.db.models import QuerySet


def accounts_with(permission: str) -> QuerySet[User]:
    """The accounts, open or closed, with a permission such as "orders.operate": their own, a group's or a superuser's.

    Django's `with_perm` finds the same, but looks at each account.
    """
    app, _, code = permission.partition(".")
    permissions = Permission.objects.filter(content_type__app_label=app, codename=code).values("pk")
    own = User.user_permissions.through.objects.filter(permission__in=permissions).values("user_id")
    of_groups = User.groups.through.objects.filter(group__permissions__in=permissions).values("user_id")
    superusers = User.objects.filter(is_superuser=True).values("pk")
    return User.objects.filter(pk__in=superusers.union(own, of_groups, all=True))
