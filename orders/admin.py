"""The admin site, for raw tables: the catalogue and the accounts can be edited, everything else can be looked at.

The state store, the channels, the desk and the audit log are read-only here, so that nobody edits around the engine.
A table may have a million rows, so none is counted or sorted: they are shown by primary key, newest first.
"""

from typing import Any, cast

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.db.models.expressions import Combinable
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from orders import models
from orders.services import audit

MOST_ROWS = 10_000
"""How far the pages of a list go."""

for _model in list(admin.site._registry):  # those of the libraries: their tables are theirs alone
    admin.site.unregister(_model)

admin.site.site_header = admin.site.site_title = _("Raw tables")
admin.site.site_url = "/console/"


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """Pages over the first rows of a table, which is not counted beyond them."""

    @cached_property
    def count(self) -> int:
        """How many rows there are, as far as it goes."""
        rows = cast("QuerySet[Model]", self.object_list)
        return rows[:MOST_ROWS].count()


class Unsorted(ChangeList):
    """A list in the one order that costs nothing, whatever its address asks for."""

    def get_ordering(self, request: HttpRequest, queryset: Any) -> list[str | Combinable]:
        return ["-pk"]


class Looked(admin.ModelAdmin):  # type: ignore[type-arg]
    """A table that can be looked at and not changed."""

    paginator = BoundedPaginator
    show_full_result_count = False
    ordering = ("-pk",)
    list_per_page = 50
    actions = None
    list_display: tuple[str, ...] = ()

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        """Every column but the long ones."""
        return self.list_display or tuple(
            field.name
            for field in self.model._meta.concrete_fields
            if field.get_internal_type() not in ("JSONField", "TextField", "ForeignKey")
        )

    def get_sortable_by(self, request: HttpRequest) -> tuple[()]:
        """None: sorting a large table by a column without an index takes minutes."""
        return ()

    def get_changelist(self, request: HttpRequest, **_: Any) -> type[ChangeList]:
        return Unsorted

    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False


class Audited(admin.ModelAdmin):  # type: ignore[type-arg]
    """A table that can be edited, with each change in the audit log as well as in the admin's own."""

    actions = None
    show_full_result_count = False

    def has_delete_permission(self, request: HttpRequest, *_: Any) -> bool:
        """Orders name products and people for ever: they are taken off the list, or closed."""
        return False

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        self._write_down(request, obj, "added")
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        self._write_down(request, obj, f"changed: {message}")
        return super().log_change(request, obj, message)

    def _write_down(self, request: HttpRequest, obj: Model, said: str) -> None:
        who = audit.Actor(
            name=request.user.get_username()[:120], ip_address=request.META.get("REMOTE_ADDR", "")[:45]
        )
        audit.record(actor=who, act="edit", target=f"{obj._meta.model_name} {obj.pk}"[:120], said=said)


@admin.register(models.Product)
class ProductAdmin(Audited):
    """The catalogue. What an order was placed for is on its lines and does not change."""

    list_display = ("sku", "title", "artist", "price", "currency", "is_listed")
    list_filter = ("is_listed", "currency")
    list_editable = ("price", "is_listed")
    search_fields = ("sku", "title", "artist")
    ordering = ("sku",)
    raw_id_fields = ("variant_of",)
    paginator = BoundedPaginator

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """A product keeps its number."""
        return ("sku",) if obj else ()


@admin.register(User)
class PersonAdmin(Audited, UserAdmin):  # type: ignore[type-arg]
    """Accounts. Only a superuser makes one of somebody, or touches the account of one."""

    list_filter = ("is_staff", "is_active", "groups")
    paginator = BoundedPaginator

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        own = ("last_login", "date_joined")
        return own if request.user.is_superuser else (*own, "is_superuser", "user_permissions")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """What Django says, but for superusers' accounts."""
        if obj is not None and obj.is_superuser and not request.user.is_superuser:
            return False
        return super().has_change_permission(request, obj)


admin.site.register(Group, Looked, filter_horizontal=("permissions",))

admin.site.register(models.OrderProcess, Looked, search_fields=("=order_id",))
admin.site.register(models.StepState, Looked, search_fields=("=process__order_id",))
admin.site.register(models.Event, Looked, search_fields=("=order_id",))
admin.site.register(models.Order, Looked, search_fields=("=id",))
admin.site.register(models.Alert, Looked, search_fields=("=order_id",))
for _model in (
    *(models.OrderLine, models.SubmissionMessage, models.SetAside, models.AgentRequest, models.AgentReply),
    *(models.StatusMessage, models.AlertGroup, models.GroupNote, models.OutgoingMessage, models.LeaderLease),
    *(models.AgentInstance, models.Circuit, models.RetryBudget, models.SweepRecord),
    *(models.BulkAction, models.BulkItem, models.AuditEntry),
):
    admin.site.register(_model, Looked)
