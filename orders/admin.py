"""The admin site, for the raw tables. The catalogue and the accounts can be edited; everything else is read-only.

The state store, the channels, the desk and the audit log are read-only so that nobody can bypass the engine. A table
may have a million rows, so none is counted in full or sorted: rows are listed by primary key, the greatest first. That
is newest first, except for tables whose primary key is an order's id.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import AdminPasswordChangeForm
from django.contrib.auth.models import Group, User
from django.core.paginator import Paginator
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model, QuerySet
from django.db.models.expressions import Combinable
from django.db.models.fields.files import FieldFile
from django.forms import model_to_dict
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from orders import models
from orders.access import api_tokens
from orders.fields.order_numbers import MistakenNumberError, read_number
from orders.selectors.desk.order_ids import MOST_ALIKE, orders_like
from orders.selectors.order_numbers import orders_with_number
from orders.services import audit

MOST_ROWS = 10_000
"""How many rows the pages of a list cover."""
EDITED = "_edited_form"
"""Attribute of a request: the form of the edit that is about to be recorded."""
SECRET = re.compile("password|token|secret|key|hash|signature", re.IGNORECASE)
"""Fields whose values are in no audit log."""
PART_OF_ID = re.compile("[0-9a-f]{4,32}")
"""The digits of an order's ID, or of a part of it, as the search of a table takes them."""
NOT_RECORDED = "not recorded"
"""Stands for the value of such a field."""

for _model in list(admin.site._registry):  # the tables of libraries are not shown
    admin.site.unregister(_model)

admin.site.site_header = admin.site.site_title = _("Raw tables")
if settings.CONFIG.drill:
    admin.site.site_header = admin.site.site_title = "Drill: demo orders; nothing is sent"
admin.site.site_url = "/console/"


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """Pages over the first `MOST_ROWS` rows of a table. The rest is not counted."""

    @cached_property
    def count(self) -> int:
        """The number of rows, up to `MOST_ROWS`."""
        rows = cast("QuerySet[Model]", self.object_list)
        return rows[:MOST_ROWS].count()


class UnsortedChangeList(ChangeList):
    """A list by primary key, the only cheap order, whatever the URL asks for."""

    def get_ordering(self, request: HttpRequest, queryset: Any) -> list[str | Combinable]:
        return ["-pk"]


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """A table that can be viewed but not changed."""

    paginator = BoundedPaginator
    show_full_result_count = False
    ordering = ("-pk",)
    list_per_page = 50
    actions = None
    list_display: tuple[str, ...] = ()
    search_help_text = _("An order’s number, or its ID: at least 4 digits of its end or 8 of its beginning")

    def get_search_results(
        self, request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[QuerySet[Model], bool]:
        """Returns the rows of the orders that have this number, or whose IDs are, end or begin like this, each found by
        an index. What Django would do instead is to compare the ID of each row as a text."""
        if not (term := search_term.strip()):
            return queryset, False
        digits = term.lower().replace("-", "")
        ids = [*orders_like(digits, most=MOST_ALIKE)] if PART_OF_ID.fullmatch(digits) else []
        ids += _numbered(term)
        (column,) = self.search_fields
        return queryset.filter(**{f"{column}__in": ids}), False

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        """Returns all columns except long texts, JSON and foreign keys."""
        return self.list_display or tuple(
            field.name
            for field in self.model._meta.concrete_fields
            if field.get_internal_type() not in ("JSONField", "TextField", "ForeignKey")
        )

    def get_sortable_by(self, request: HttpRequest) -> tuple[()]:
        """Returns no columns: sorting a large table by a column without an index takes minutes."""
        return ()

    def get_changelist(self, request: HttpRequest, **_: Any) -> type[ChangeList]:
        return UnsortedChangeList

    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, *_: Any) -> bool:
        return False


def _numbered(term: str) -> Sequence[UUID]:
    try:
        number = read_number(term)
    except MistakenNumberError:
        return ()
    return orders_with_number(number) if number else ()


class AuditedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """A table that can be edited. Each change is also recorded in the audit log."""

    actions = None
    show_full_result_count = False

    def has_delete_permission(self, request: HttpRequest, *_: Any) -> bool:
        """Returns False: orders refer to products and people for good. Unlist or deactivate them instead."""
        return False

    def construct_change_message(self, request: HttpRequest, form: Any, *args: Any, **kwargs: Any) -> Any:
        """Keeps the form as well: what is logged next is told neither the old values nor the names of the fields."""
        setattr(request, EDITED, form)
        return super().construct_change_message(request, form, *args, **kwargs)

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        self._record(request, obj, words_of(message), after=model_to_dict(obj))
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        form = getattr(request, EDITED)
        before = {name: form.initial.get(name) for name in form.changed_data}
        after = model_to_dict(obj, fields=form.changed_data)
        self._record(request, obj, words_of(message), before=before, after=after)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: Iterable[Model]) -> Any:
        for obj in queryset:
            self._record(request, obj, "deleted", before=model_to_dict(obj))
        return super().log_deletions(request, queryset)  # type: ignore[arg-type]  # a list as well

    def name_of(self, obj: Model) -> str:
        """Returns what the audit log calls a row: its primary key."""
        return str(obj.pk)

    def _record(
        self,
        request: HttpRequest,
        obj: Model,
        result: str,
        *,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
    ) -> None:
        audit.record(
            actor=audit.actor_of(request),
            act="edit",
            target=f"{obj._meta.model_name} {self.name_of(obj)}",
            result=result,
            before=recordable(before),
            after=recordable(after),
        )


def words_of(message: Any) -> str:
    """Returns Django's message about an edit as the audit log words it: changed Price and Title."""
    with override("en"):
        words = LogEntry(change_message=json.dumps(message)).get_change_message().rstrip(".")
    return words[:1].lower() + words[1:]


def recordable(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Returns fields as JSON without what is secret, or None if there are none. Rows are named by their texts."""
    if not values:
        return None
    shown = {name: NOT_RECORDED if SECRET.search(name) else _plain(value) for name, value in values.items()}
    return cast("dict[str, Any]", json.loads(json.dumps(shown, cls=DjangoJSONEncoder)))


def _plain(value: Any) -> Any:
    if isinstance(value, list):  # of rows, or of what a JSON field holds
        return sorted(map(str, value)) if any(isinstance(item, Model) for item in value) else value
    return str(value) if isinstance(value, FieldFile) else value


class AccountPasswordForm(AdminPasswordChangeForm):  # type: ignore[type-arg]
    """Sets an account's password, or takes it away. Either revokes the account's tokens."""

    def save(self, commit: bool = True) -> Any:
        user = super().save(commit)
        api_tokens.revoke_all(user)
        return user


@admin.register(User)
class AccountAdmin(AuditedAdmin, UserAdmin):  # type: ignore[type-arg]
    """Accounts. Only a superuser can make somebody a superuser, or change a superuser's account.

    The tokens of an account that is deactivated are revoked.
    """

    change_password_form = AccountPasswordForm
    list_filter = ("is_staff", "is_active", "groups")
    paginator = BoundedPaginator

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        own = ("last_login", "date_joined")
        return own if request.user.is_superuser else (*own, "is_superuser", "user_permissions")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allows what Django allows, except that only superusers can change a superuser's account."""
        if obj is not None and obj.is_superuser and not request.user.is_superuser:
            return False
        return super().has_change_permission(request, obj)

    def name_of(self, obj: Any) -> str:
        """Returns the account's name, which people know, and not its number."""
        return str(obj.get_username())

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if not obj.is_active:
            api_tokens.revoke_all(obj)


admin.site.register(Group, ReadOnlyAdmin, filter_horizontal=("permissions",))

admin.site.register(models.OrderProcess, ReadOnlyAdmin, search_fields=("order_id",))
admin.site.register(models.StepState, ReadOnlyAdmin, search_fields=("process__order_id",))
admin.site.register(models.Event, ReadOnlyAdmin, search_fields=("order_id",))
admin.site.register(models.Order, ReadOnlyAdmin, search_fields=("id",))
admin.site.register(models.Alert, ReadOnlyAdmin, search_fields=("order_id",))
admin.site.register(models.OrderNote, ReadOnlyAdmin, search_fields=("order_id",))
admin.site.register(models.ArchivedOrder, ReadOnlyAdmin, search_fields=("order_id",))
admin.site.register(models.WebhookDelivery, ReadOnlyAdmin, search_fields=("order_id",))
admin.site.register(models.WebhookEndpoint, ReadOnlyAdmin, exclude=("secret", "previous_secret"))
for _model in (
    *(models.OrderLine, models.SubmissionMessage, models.SetAside, models.AgentRequest, models.AgentReply),
    *(models.StatusMessage, models.AlertGroup, models.GroupNote, models.OutgoingMessage, models.LeaderLease),
    models.OrderUpdateReader,
    *(models.AgentInstance, models.Circuit, models.RetryBudget, models.SweepRecord),
    *(models.RoleInstance, models.WorkflowDefinition),
    *(models.BulkAction, models.BulkItem, models.AuditEntry, models.ApprovalRequest),
):
    admin.site.register(_model, ReadOnlyAdmin)
