"""The catalogue and the terms of delivery in the admin site."""

import json
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone

from orders.admin import AuditedAdmin, BoundedPaginator
from orders.shop.models import DeliveryTerms, Product


class _Indented(json.JSONEncoder):
    """JSON of which each member is on a line of its own."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "indent": 2, "ensure_ascii": False})


class ProductForm(forms.ModelForm):  # type: ignore[type-arg]
    """A product. Only a poster has a design; that of its variants is empty."""

    design = forms.JSONField(
        label="Design",
        required=False,
        initial=dict,
        encoder=_Indented,
        help_text="what the picture is drawn from; empty for a variant, which has that of its poster",
        widget=forms.Textarea(attrs={"rows": 16, "cols": 60, "spellcheck": "false"}),
    )

    def clean_design(self) -> Any:
        """Returns the design; an empty one if nothing was entered."""
        return self.cleaned_data["design"] or {}


@admin.register(Product)
class ProductAdmin(AuditedAdmin):
    """The catalogue. Changes here do not affect orders: their lines keep the title and price at the time of the
    order."""

    form = ProductForm
    list_display = ("sku", "title", "artist", "price", "currency", "edition_size", "stock", "is_listed")
    list_filter = ("is_listed", "currency")
    list_editable = ("price", "is_listed")
    search_fields = ("sku", "title", "artist")
    ordering = ("sku",)
    raw_id_fields = ("variant_of",)
    paginator = BoundedPaginator

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Makes an existing product's SKU read-only."""
        return ("sku",) if obj else ()

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Fills in when the product was added: now, by which the wall is sorted by the newest."""
        return {"added_at": timezone.now(), **super().get_changeform_initial_data(request)}


@admin.register(DeliveryTerms)
class DeliveryTermsAdmin(AuditedAdmin):
    """The terms of delivery. Changes here do not affect orders: they keep the terms on which they were placed."""

    list_display = ("__str__", "price", "fewest_days", "most_days", "tax_rate")
    list_filter = ("currency",)
    search_fields = ("country",)
    paginator = BoundedPaginator
