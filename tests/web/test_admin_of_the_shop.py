"""What the shop's owner reads in the admin site: sums and rates as people write them, what the warehouse has, what her
terms of delivery mean, and a sentence for each mistake."""

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.utils import timezone

from orders.models import AuditEntry, Order, OrderLine
from orders.retention.moving import archive_finished
from orders.shop.models import DeliveryTerms, Edition, Product
from tests.support.factories import ago, make_order, make_purchase
from tests.support.people import person, signed_in
from tests.web.shopping import FULFIL

pytestmark = pytest.mark.django_db

TERMS = {"country": "DE", "currency": "EUR", "price": 690, "fewest_days": 2, "most_days": 4, "tax_rate": 1900}
ONLY_GERMANY = (
    "Orders in EUR are now delivered to Germany only. To serve every other country too, add terms in EUR with an empty"
    " country."
)
ALL_SOLD = (
    "All 3 prints of this edition are sold. Untick “Is listed”, because the warehouse will refuse the next"
    " order."
)


@pytest.fixture
def root() -> Client:
    user = person("admin", "root")
    User.objects.filter(pk=user.pk).update(is_staff=True, is_superuser=True)
    return signed_in(User.objects.get(pk=user.pk))


@pytest.fixture
def numbered() -> Product:
    """A numbered edition of 100."""
    return Product.objects.create(
        sku="sun", title="Sun", artist="A", price=15_200, edition=Edition.SIGNED, edition_size=100
    )


def save_product(root: Client, product: Product, **changes: Any) -> list[str]:
    """Edits a product, and returns what is wrong with that."""
    at = product.added_at or timezone.now()
    values = {
        **{"title": product.title, "artist": product.artist, "price": product.price, "currency": "EUR"},
        **{"edition": product.edition, "edition_size": product.edition_size or "", "rank": product.rank},
        **{"added_at_0": f"{at:%Y-%m-%d}", "added_at_1": f"{at:%H:%M:%S}", "design": "{}"},
    }
    return refusals(root.post(f"/admin/shop/product/{product.pk}/change/", values | changes))


def refusals(answer: Any) -> list[str]:
    return (
        [] if answer.status_code == 302 else [text for errors in answer.context["errors"] for text in errors]
    )


def save_terms(root: Client, **changes: Any) -> list[str]:
    return refusals(root.post("/admin/shop/deliveryterms/add/", TERMS | changes))


def warnings(page: str) -> list[str]:
    """The warnings on a page of the admin site, as they read."""
    items = re.findall(r'<li class="warning">(.*?)</li>', page, re.S)
    return [html.unescape(" ".join(re.sub("<[^>]+>", "", text).split())) for text in items]


def cells(page: str, column: str) -> list[str]:
    return [html.unescape(text) for text in re.findall(rf'<td class="field-{column}[^"]*">([^<]*)', page)]


def reserved(*numbers: int, sku: str = "sun", state: str = "completed", **process: Any) -> None:
    """An order of prints to which the warehouse has given these numbers."""
    answer = {"editions": [{"sku": sku, "numbers": list(numbers), "of": 100}]}
    order = make_order({"reserve-stock": {"state": state, "result": answer}}, workflow=FULFIL, **process)
    purchase: Order = make_purchase(order.order_id)
    OrderLine.objects.create(order=purchase, sku=sku, title="Sun", quantity=len(numbers), unit_price=15_200)


def test_an_edition_cannot_be_smaller_than_what_is_sold_of_it(root: Client, numbered: Product) -> None:
    reserved(1, 2, 3)
    reserved(4, process_state="processed", finished_at=ago(100))
    reserved(5, state="compensated", goal="compensate")  # the warehouse has it back
    reserved(9, sku="other")
    archive_finished(before=ago(50))
    assert save_product(root, numbered, edition_size=3) == [
        "4 prints of this edition are sold, so it can’t have fewer than 4."
    ]
    assert save_product(root, numbered, edition_size=4) == []
    numbered.refresh_from_db()
    assert numbered.edition_size == 4


def test_an_edition_cannot_be_smaller_than_the_highest_number_that_somebody_has(
    root: Client, numbered: Product
) -> None:
    reserved(7)
    assert save_product(root, numbered, edition_size=6) == [
        "1 print of this edition is sold, up to No. 7, so it can’t have fewer than 7."
    ]
    assert save_product(root, numbered, edition_size=7) == []


def test_what_the_warehouse_no_longer_has_of_an_edition_is_sold(root: Client, numbered: Product) -> None:
    reserved(1)
    Product.objects.update(stock=60, stock_read_at=timezone.now())
    assert save_product(root, numbered, edition_size=39) == [
        "40 prints of this edition are sold, so it can’t have fewer than 40."
    ]
    assert save_product(root, numbered, edition_size=40) == []


def test_a_size_that_was_entered_by_mistake_is_corrected_although_the_warehouse_still_counts_from_the_former(
    root: Client, numbered: Product
) -> None:
    reserved(1)
    Product.objects.update(stock=99, stock_read_at=timezone.now())
    assert save_product(root, numbered, edition_size=2_000) == []
    assert save_product(root, numbered, edition_size=200) == []
    numbered.refresh_from_db()
    assert numbered.edition_size == 200


def test_an_edition_of_which_nothing_is_known_may_have_any_size(root: Client, numbered: Product) -> None:
    assert save_product(root, numbered, edition_size=1) == []
    reserved(1, 2)
    Product.objects.update(edition_size=None)
    numbered.refresh_from_db()
    assert save_product(root, numbered, edition_size=1) == [
        "2 prints of this edition are sold, so it can’t have fewer than 2."
    ]
    assert save_product(root, numbered, title="Sunset") == []  # nothing else asks how many are sold


def test_an_edition_that_is_cut_to_what_is_sold_warns_while_it_is_still_for_sale(
    root: Client, numbered: Product
) -> None:
    """The warehouse learns its size with the next order, and then refuses it."""
    reserved(1, 3)
    assert save_product(root, numbered, edition_size=3, is_listed="on") == []
    assert warnings(root.get("/admin/shop/product/").content.decode()) == []  # number 2 is left
    reserved(2)
    Product.objects.update(edition_size=100)
    numbered.refresh_from_db()
    for is_listed in ("", "on"):
        assert save_product(root, numbered, edition_size=3, is_listed=is_listed) == []
        page = root.get("/admin/shop/product/").content.decode()
        assert warnings(page) == ([ALL_SOLD] if is_listed else [])
        Product.objects.update(edition_size=100)


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({"price": 0}, "The price must be more than 0."),
        ({"variant_of": "sun"}, "A product can’t be a variant of itself."),
        ({"edition": "open"}, "Only a signed edition has numbers, from 1 to 9,999 of them."),
        ({"edition_size": 10_000}, "Only a signed edition has numbers, from 1 to 9,999 of them."),
        (
            {"variant_of": "poster", "size": "30x40"},
            "This poster already has a variant of this size and edition.",
        ),
    ],
)
def test_a_product_that_cannot_be_is_refused_with_a_sentence(
    root: Client, numbered: Product, changes: dict[str, Any], refusal: str
) -> None:
    poster = Product.objects.create(sku="poster", title="Poster", artist="A", price=900)
    Product.objects.create(
        sku="v", title="V", artist="A", price=9, variant_of=poster, size="30x40", edition=Edition.SIGNED
    )
    assert save_product(root, numbered, **changes) == [refusal]


@pytest.mark.parametrize(
    ("changes", "refusal"),
    [
        ({}, "There are terms for this country and currency already."),
        ({"country": "AT", "fewest_days": 5}, "The fewest days can’t be more than the most days."),
        ({"country": "de"}, "Enter a two-letter code in capitals, such as DE."),
        ({"country": "AT", "currency": "eur"}, "Enter a three-letter code in capitals, such as EUR."),
    ],
)
def test_terms_that_cannot_be_are_refused_with_a_sentence(
    root: Client, changes: dict[str, Any], refusal: str
) -> None:
    DeliveryTerms.objects.create(**TERMS)
    assert save_terms(root, **changes) == [refusal]


def test_no_refusal_shows_the_name_of_a_constraint() -> None:
    for model in (Product, DeliveryTerms):
        for constraint in model._meta.constraints:
            words = constraint.violation_error_message
            assert words != constraint.default_violation_error_message, constraint.name
            assert str(words)[0].isupper() and str(words).endswith("."), constraint.name


def test_the_first_terms_in_a_currency_warn_that_no_other_country_is_served_any_more(root: Client) -> None:
    assert save_terms(root) == []
    page = root.get("/admin/shop/deliveryterms/").content.decode()
    assert warnings(page) == [ONLY_GERMANY]
    assert 'href="/admin/shop/deliveryterms/add/?currency=EUR"' in page
    assert warnings(root.get("/admin/shop/deliveryterms/").content.decode()) == []


def test_terms_for_every_other_country_end_the_warning_in_their_currency_alone(root: Client) -> None:
    for country in ("AT", "BE", "FR", "NL"):
        DeliveryTerms.objects.create(**TERMS | {"country": country})
    assert save_terms(root) == []
    assert warnings(root.get("/admin/shop/deliveryterms/").content.decode()) == [
        ONLY_GERMANY.replace("to Germany only", "only to Austria, Belgium, Germany and 2 other countries")
    ]
    assert save_terms(root, country="") == []
    assert save_terms(root, country="IT") == []
    assert warnings(root.get("/admin/shop/deliveryterms/").content.decode()) == []
    assert save_terms(root, currency="USD") == []
    assert warnings(root.get("/admin/shop/deliveryterms/").content.decode()) == [
        ONLY_GERMANY.replace("EUR", "USD")
    ]


def test_an_edit_that_takes_the_terms_of_every_other_country_warns_as_well(root: Client) -> None:
    terms = DeliveryTerms.objects.create(**TERMS | {"country": ""})
    assert refusals(root.post(f"/admin/shop/deliveryterms/{terms.pk}/change/", TERMS)) == []
    assert warnings(root.get("/admin/shop/deliveryterms/").content.decode()) == [ONLY_GERMANY]


def test_terms_that_move_to_another_currency_warn_of_the_one_that_they_leave(root: Client) -> None:
    DeliveryTerms.objects.create(**TERMS)
    terms = DeliveryTerms.objects.create(**TERMS | {"country": ""})
    moved = TERMS | {"country": "", "currency": "USD"}
    assert refusals(root.post(f"/admin/shop/deliveryterms/{terms.pk}/change/", moved)) == []
    assert warnings(root.get("/admin/shop/deliveryterms/").content.decode()) == [ONLY_GERMANY]


ONLY_TERMS = (
    "These are the only terms in EUR. Without them, orders in EUR are delivered everywhere for nothing, and nothing is"
    " said of time and tax."
)
FREE = "Orders in EUR are now delivered everywhere for nothing: there are no terms in EUR."


@pytest.mark.parametrize(
    ("others", "country", "question", "after"),
    [
        ([], "DE", ONLY_TERMS, [FREE]),
        ([], "", ONLY_TERMS, [FREE]),
        (["DE"], "", "Without these terms, orders in EUR are delivered to Germany only.", [ONLY_GERMANY]),
        (
            ["DE"],
            "IS",
            "Without these terms, orders in EUR are no longer delivered to Iceland.",
            [ONLY_GERMANY],
        ),
        (["", "DE"], "NL", "Without these terms, the Netherlands has those of every other country.", []),
    ],
)
def test_whoever_may_change_terms_deletes_them_and_reads_before_and_after_what_that_does(
    others: list[str], country: str, question: str, after: list[str]
) -> None:
    user = person("admin", "ada")
    User.objects.filter(pk=user.pk).update(is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="change_deliveryterms"))
    owner = signed_in(User.objects.get(pk=user.pk))
    DeliveryTerms.objects.create(**TERMS | {"country": "", "currency": "USD"})
    for other in others:
        DeliveryTerms.objects.create(**TERMS | {"country": other})
    terms = DeliveryTerms.objects.create(**TERMS | {"country": country})
    path = f"/admin/shop/deliveryterms/{terms.pk}/"
    assert f'href="{path}delete/"' in owner.get(f"{path}change/").content.decode()
    assert warnings(owner.get(f"{path}delete/").content.decode()) == [question]
    assert owner.post(f"{path}delete/", {"post": "yes"}).status_code == 302
    assert not DeliveryTerms.objects.filter(pk=terms.pk).exists()
    assert warnings(owner.get("/admin/shop/deliveryterms/").content.decode()) == after
    assert AuditEntry.objects.get().result == "deleted"


def test_the_level_admin_may_do_with_terms_what_it_may_do_with_products() -> None:
    """After `migrate` alone."""
    group = Group.objects.get(name="admin")
    codes = group.permissions.filter(content_type__app_label="shop").values_list("codename", flat=True)
    acts = ("add", "change", "view")
    assert sorted(codes) == [f"{act}_{table}" for act in acts for table in ("deliveryterms", "product")]


@pytest.mark.parametrize("level", ["viewer", "operator"])
def test_who_may_not_change_terms_deletes_none(level: str) -> None:
    user = person(level, "olga")
    User.objects.filter(pk=user.pk).update(is_staff=True)
    terms = DeliveryTerms.objects.create(**TERMS)
    path = f"/admin/shop/deliveryterms/{terms.pk}/delete/"
    operator = signed_in(User.objects.get(pk=user.pk))
    assert (operator.get(path).status_code, operator.post(path, {"post": "yes"}).status_code) == (403, 403)
    assert DeliveryTerms.objects.get() == terms


def test_the_last_terms_that_move_to_another_currency_say_that_theirs_has_none(root: Client) -> None:
    terms = DeliveryTerms.objects.create(**TERMS | {"country": ""})
    moved = TERMS | {"country": "", "currency": "USD"}
    assert refusals(root.post(f"/admin/shop/deliveryterms/{terms.pk}/change/", moved)) == []
    assert warnings(root.get("/admin/shop/deliveryterms/").content.decode()) == [FREE]


def test_the_form_says_what_terms_do_to_other_countries_and_in_which_units_they_are(root: Client) -> None:
    page = " ".join(html.unescape(root.get("/admin/shop/deliveryterms/add/").content.decode()).split())
    for words in (
        "Leave it empty for every other country. As soon as a currency has any terms, a country without terms in it is"
        " only served if there are terms for every other country.",
        "In minor units of the currency: 690 for €6.90, 0 if delivery is free.",
        "In hundredths of a percent: 2100 for 21%, 0 if prices include no tax.",
    ):
        assert words in page
    product = html.unescape(root.get("/admin/shop/product/add/").content.decode())
    assert "In minor units of the currency: 3900 for €39.00. It includes the tax." in product


def test_lists_have_sums_rates_and_times_as_people_write_them(root: Client, numbered: Product) -> None:
    assert cells(root.get("/admin/shop/product/").content.decode(), "price_in_words") == ["€152.00"]
    DeliveryTerms.objects.create(**TERMS)
    free = {"currency": "JPY", "price": 0, "fewest_days": 3, "most_days": 3, "tax_rate": 0}
    DeliveryTerms.objects.create(**TERMS | free)
    DeliveryTerms.objects.create(
        **TERMS | {"currency": "KRW", "price": 9000, "most_days": 2, "tax_rate": 810}
    )
    page = root.get("/admin/shop/deliveryterms/").content.decode()
    assert cells(page, "price_in_words") == ["€6.90", "free", "₩9,000"]
    assert cells(page, "days_in_words") == ["2–4 working days", "3 working days", "2 working days"]
    assert cells(page, "tax_in_words") == ["19%", "none", "8.1%"]


@pytest.mark.parametrize(
    ("stock", "minutes", "words"),
    [
        (None, 0, "Not known: the warehouse hasn’t said how many are left."),
        (12, 2, "12 left, as the warehouse said 2 minutes ago"),
        (0, 14, "0 left, as the warehouse said 14 minutes ago"),
        (12, 40, "12 left, as the warehouse said 40 minutes ago. That’s too long ago for pages to say it."),
    ],
)
def test_the_form_of_a_product_shows_what_the_warehouse_last_said_and_when(
    root: Client, numbered: Product, stock: int | None, minutes: int, words: str
) -> None:
    read_at = None if stock is None else timezone.now() - timedelta(minutes=minutes)
    Product.objects.update(stock=stock, stock_read_at=read_at)
    page = root.get("/admin/shop/product/sun/change/").content.decode()
    (shown,) = re.findall(r'<div class="readonly">([^<]*left[^<]*)</div>', page)
    assert html.unescape(shown) == words
    assert "warehouse" not in root.get("/admin/shop/product/add/").content.decode()
