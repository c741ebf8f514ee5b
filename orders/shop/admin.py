"""The catalogue and the terms of delivery in the admin site."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from orders.admin import AuditedAdmin, BoundedPaginator
from orders.shop.models import DeliveryTerms, Product


@admin.register(Product)
class ProductAdmin(AuditedAdmin):
    """The catalogue. Changes here do not affect orders: their lines keep the title and price at the time of the
    order."""

    list_display = ("sku", "title", "artist", "price", "currency", "is_listed")
    list_filter = ("is_listed", "currency")
    list_editable = ("price", "is_listed")
    search_fields = ("sku", "title", "artist")
    ordering = ("sku",)
    raw_id_fields = ("variant_of",)
    paginator = BoundedPaginator

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Makes an existing product's SKU read-only."""
        return ("sku",) if obj else ()


@admin.register(DeliveryTerms)
class DeliveryTermsAdmin(AuditedAdmin):
    """The terms of delivery. Changes here do not affect orders: they keep the terms on which they were placed."""

    list_display = ("__str__", "price", "fewest_days", "most_days", "tax_rate")
    list_filter = ("currency",)
    search_fields = ("country",)
    paginator = BoundedPaginator
