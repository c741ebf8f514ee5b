"""The catalogue and the terms of delivery in the admin site."""

import json
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode

from orders.admin import AuditedAdmin, BoundedPaginator
from orders.fields import countries
from orders.fields.money import Money
from orders.shop import admin_words
from orders.shop.models import VARIANT_OF_ITSELF, DeliveryTerms, Product
from orders.shop.offers import price_of
from orders.shop.sold_prints import sold_prints
from orders.wording.units import english_money

FIELDS = (
    *("sku", "variant_of", "size", "edition", "edition_size", "stock_in_words"),
    *("title", "artist", "description", "price", "currency", "design", "is_listed", "rank", "added_at"),
)
"""Those of a product's form, in their order."""


class _Indented(json.JSONEncoder):
    """JSON of which each member is on a line of its own."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "indent": 2, "ensure_ascii": False})


class ProductForm(forms.ModelForm):  # type: ignore[type-arg]
    """A product. Only a poster has a design; that of its variants is empty. `leaves_none` is whether the edition gets
    as small as what is sold of it."""

    leaves_none = False

    design = forms.JSONField(
        label="Design",
        required=False,
        initial=dict,
        encoder=_Indented,
        help_text="What the picture is drawn from. Leave it empty for a variant, which has that of its poster.",
        widget=forms.Textarea(attrs={"rows": 16, "cols": 60, "spellcheck": "false"}),
    )

    def clean_design(self) -> Any:
        """Returns the design; an empty one if nothing was entered."""
        return self.cleaned_data["design"] or {}

    def clean_variant_of(self) -> Product | None:
        """Returns the poster. The constraint is not checked of a form in which the SKU cannot be edited."""
        poster: Product | None = self.cleaned_data["variant_of"]
        if poster and poster.pk == self.instance.pk:
            raise forms.ValidationError(VARIANT_OF_ITSELF)
        return poster

    def clean_edition_size(self) -> int | None:
        """Returns how many prints the edition has. Those that are sold cannot be taken out of it: the warehouse would
        have none left, and refuse the next order."""
        size: int | None = self.cleaned_data["edition_size"]
        if size is None or "edition_size" not in self.changed_data or self.instance._state.adding:
            return size
        sold = sold_prints(self.instance)
        if size < sold.smallest_edition:
            raise forms.ValidationError(admin_words.too_small(sold))
        self.leaves_none = size == sold.count
        return size


@admin.register(Product)
class ProductAdmin(AuditedAdmin):
    """The catalogue. Changes here do not affect orders: their lines keep the title and price at the time of the
    order."""

    form = ProductForm
    list_display = ("sku", "title", "artist", "price_in_words", "edition_size", "stock", "is_listed")
    list_filter = ("is_listed", "currency")
    list_editable = ("is_listed",)
    search_fields = ("sku", "title", "artist")
    ordering = ("sku",)
    raw_id_fields = ("variant_of",)
    paginator = BoundedPaginator

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Returns the fields of the form. A product that is being added has no stock yet."""
        return tuple(name for name in FIELDS if obj or name != "stock_in_words")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Makes an existing product's SKU read-only, and shows what the warehouse has of it."""
        return ("sku", "stock_in_words") if obj else ()

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if obj.is_listed and getattr(form, "leaves_none", False):  # the list has a form of its own
            messages.warning(request, admin_words.all_sold(obj.edition_size))

    @admin.display(description="Price", ordering="price")
    def price_in_words(self, product: Product) -> str:
        """What it costs, as customers read it."""
        return english_money(price_of(product))

    @admin.display(description="Stock")
    def stock_in_words(self, product: Product) -> str:
        """What the warehouse last said of it."""
        return admin_words.stock_in_words(product.stock, product.stock_read_at, now=timezone.now())

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Fills in when the product was added: now, by which the wall is sorted by the newest."""
        return {"added_at": timezone.now(), **super().get_changeform_initial_data(request)}


@admin.register(DeliveryTerms)
class DeliveryTermsAdmin(AuditedAdmin):
    """The terms of delivery. Changes here do not affect orders: they keep the terms on which they were placed."""

    list_display = ("__str__", "price_in_words", "days_in_words", "tax_in_words")
    list_filter = ("currency",)
    search_fields = ("country",)
    paginator = BoundedPaginator

    @admin.display(description="Price", ordering="price")
    def price_in_words(self, terms: DeliveryTerms) -> str:
        """What delivery costs, as customers read it."""
        return admin_words.delivery_price(Money(amount=terms.price, currency=terms.currency))

    @admin.display(description="Time", ordering="most_days")
    def days_in_words(self, terms: DeliveryTerms) -> str:
        """How long delivery takes."""
        return admin_words.working_days(terms.fewest_days, terms.most_days)

    @admin.display(description="Tax", ordering="tax_rate")
    def tax_in_words(self, terms: DeliveryTerms) -> str:
        """The tax that prices include."""
        return admin_words.tax(terms.tax_rate)

    def has_delete_permission(self, request: HttpRequest, *rest: Any) -> bool:
        """Whoever may change the terms may delete them: orders keep those on which they were placed."""
        return self.has_change_permission(request, *rest)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        """Asks for confirmation, and says what it would do."""
        terms = self.get_object(request, object_id) if request.method != "POST" else None
        if terms is not None and self.has_delete_permission(request, terms):
            messages.warning(request, _without(terms))
        return super().delete_view(request, object_id, extra_context)

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        """Deletes the terms, and warns as after every change."""
        super().delete_model(request, obj)
        _warn_of_unserved(request, obj.currency)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Saves the terms, and warns of countries that are no longer served in their currency, or in the former one."""
        super().save_model(request, obj, form, change)
        former = form.initial["currency"] if change else obj.currency
        for currency in sorted({obj.currency, former}):
            _warn_of_unserved(request, currency)


def _warn_of_unserved(request: HttpRequest, currency: str) -> None:
    """Says which countries are the only ones to be served in a currency, if there are no terms for the others, or that
    all are served for nothing."""
    names, has_default = _countries(DeliveryTerms.objects.filter(currency=currency))
    if has_default:
        return
    if not names:
        messages.warning(request, admin_words.nothing_costs(currency))
        return
    words = admin_words.only_served(currency, names)
    url = f"{reverse('admin:shop_deliveryterms_add')}?{urlencode({'currency': currency})}"
    link = format_html('<a href="{}">add terms in {} with an empty country</a>', url, currency)
    messages.warning(request, format_html("{} To serve every other country too, {}.", words, link))


def _without(terms: DeliveryTerms) -> str:
    """What it would do to delete these terms."""
    others = DeliveryTerms.objects.filter(currency=terms.currency).exclude(pk=terms.pk)
    names, has_default = _countries(others)
    country = countries.name_in_sentence(terms.country) if terms.country else ""
    return admin_words.without_terms(terms.currency, country, names, has_default=has_default)


def _countries(terms: QuerySet[DeliveryTerms]) -> tuple[list[str], bool]:
    """The names of the countries that have terms of their own, and whether there are some for every other one."""
    codes = list(terms.order_by("country").values_list("country", flat=True))
    return [countries.name_in_sentence(code) for code in codes if code], "" in codes
