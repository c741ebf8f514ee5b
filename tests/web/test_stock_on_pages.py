"""What is left of a product, on the wall, its page, in the cart and at the checkout; and that an old reading says
nothing and stops nobody."""

import json
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from orders.access.guest_links import read_token
from orders.models import Order, SubmissionKey
from orders.shop.demo.catalogue import load_catalogue
from orders.shop.models import Product
from orders.shop.stock import save
from tests.web.helpers import run_submission
from tests.web.shopping import FORM

LINES, LARGE, SIGNED = "tidal-lines", "tidal-lines-60x80", "tidal-lines-60x80-signed"


@pytest.fixture(autouse=True)
def shop(db: None) -> None:
    """The demonstration catalogue, with one numbered edition."""
    load_catalogue()
    Product.objects.filter(edition="signed").update(edition_size=None)
    Product.objects.filter(sku=SIGNED).update(edition_size=100)


def grow_old() -> None:
    """What was read is now too old to count."""
    Product.objects.filter(stock__isnull=False).update(stock_read_at=timezone.now() - timedelta(minutes=16))


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html))


def page(client: Client, url: str) -> str:
    return text_of(client.get(url, follow=True).content.decode())


def choices(client: Client, query: str = "") -> dict[str, tuple[str, bool, bool]]:
    """Of each offer on the poster's page: what is said of what is left, whether it is chosen, and whether it can be."""
    html = client.get(f"/posters/{LINES}/{query}").content.decode()
    labels = re.findall(r'<label class="choice">.*?</label>', html, re.DOTALL)
    offers = {}
    for label in labels:
        (sku,) = re.findall(r'value="([^"]+)"', label)
        words = re.findall(r'<span class="choice__stock">([^<]*)</span>', label)
        attributes = label.partition("<input")[2].partition(">")[0]
        offers[sku] = (words[0] if words else "", "checked" in attributes, "disabled" not in attributes)
    return offers


def sell_out() -> None:
    save(dict.fromkeys(Product.objects.filter(sku__startswith=LINES).values_list("sku", flat=True), 0))


@pytest.mark.parametrize(
    ("stock", "words"),
    [(0, "Sold out"), (1, "Only 1 left"), (5, "Only 5 left"), (6, ""), (900, "")],
)
def test_a_size_says_what_is_left_when_it_is_little(client: Client, stock: int, words: str) -> None:
    save({LARGE: stock})
    assert choices(client)[LARGE] == (words, False, stock > 0)
    grow_old()
    assert choices(client)[LARGE] == ("", False, True)


@pytest.mark.parametrize(
    ("stock", "words"),
    [
        (37, "Edition of 100, 37 left"),
        (1, "Edition of 100, 1 left"),
        (0, "Sold out"),
        (101, "Edition of 100"),  # of a larger one, as the warehouse still has it
    ],
)
def test_a_numbered_edition_counts_down(client: Client, stock: int, words: str) -> None:
    assert choices(client)[SIGNED][0] == "Edition of 100"
    save({SIGNED: stock})
    assert choices(client)[SIGNED][0] == words
    grow_old()
    assert choices(client)[SIGNED][0] == "Edition of 100"


def test_what_is_sold_out_is_not_chosen_and_another_size_is(client: Client) -> None:
    save({LINES: 0})
    assert choices(client)[LINES] == ("Sold out", False, False)
    assert [sku for sku, (_, is_chosen, _) in choices(client).items() if is_chosen] == ["tidal-lines-45x60"]
    assert choices(client, f"?choice={LARGE}")[LARGE][1]
    assert "Add to cart" in page(client, f"/posters/{LINES}/")


def test_the_button_of_a_poster_that_is_sold_out_says_so(client: Client) -> None:
    sell_out()
    html = client.get(f"/posters/{LINES}/").content.decode()
    assert "disabled>Sold out</button>" in html
    assert "Add to cart" not in html
    grow_old()
    assert "Add to cart" in page(client, f"/posters/{LINES}/")


def test_the_wall_marks_a_poster_only_if_all_its_offers_are_sold_out(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    sell_out()
    Product.objects.filter(sku=LARGE).update(stock=1)
    assert "Sold out" not in page(client, "/")
    Product.objects.filter(sku=LARGE).update(is_listed=False)
    for url in ("/", "/?q=tidal", "/posters/north-swell/"):
        assert page(client, url).count("Sold out") == 1, url
    with django_assert_num_queries(4):
        client.get("/")
    grow_old()
    assert "Sold out" not in page(client, "/")


def wall(client: Client, query: str = "") -> dict[str, str]:
    """Of each poster on the wall, by its title and in their order, what its card says of its price."""
    html = client.get(f"/{query}").content.decode()
    cards = re.findall(r'<li class="card">.*?</li>', html, re.DOTALL)
    prices = {}
    for card in cards:
        (title,) = re.findall(r'<a href="[^"]*"[^>]*>([^<]+)</a>\s*</h', card)
        prices[title] = text_of(card.rpartition('<span class="numbers">')[2]).strip()
    return prices


@pytest.mark.parametrize("sort", ["price", "-price"])
def test_the_wall_shows_and_sorts_by_the_cheapest_price_that_can_be_bought(client: Client, sort: str) -> None:
    assert wall(client)["North Swell"] == "from €44"
    save({"north-swell": 0})
    assert wall(client)["North Swell"] == "from €70"
    cards = wall(client, f"?sort={sort}")
    prices = [int(words.removeprefix("from €")) for words in cards.values()]
    assert prices == sorted(prices, reverse=sort == "-price")
    assert cards["North Swell"] == "from €70"
    beside = page(client, f"/posters/{LINES}/").partition("On the same wall")[2]
    assert "North Swell Maren Oost from €70" in beside
    grow_old()
    assert wall(client)["North Swell"] == "from €44"


def test_a_price_range_shows_only_what_can_be_bought_at_these_prices(client: Client) -> None:
    assert wall(client, "?min=44&max=45")["North Swell"] == "from €44 in 30 × 40 cm"
    save({"north-swell": 0})
    assert "North Swell" not in wall(client, "?min=44&max=45")
    assert wall(client, "?max=70")["North Swell"] == "from €70 in 45 × 60 cm"
    grow_old()
    assert "North Swell" in wall(client, "?min=44&max=45")


def test_a_price_range_shows_what_is_sold_out_only_if_nothing_else_of_it_can_be_bought(
    client: Client,
) -> None:
    sell_out()
    assert wall(client, "?max=39")["Tidal Lines"] == "Sold out in 30 × 40 cm"
    assert wall(client)["Tidal Lines"] == "Sold out"
    Product.objects.filter(sku=SIGNED).update(stock=1)
    assert "Tidal Lines" not in wall(client, "?max=39")
    assert wall(client)["Tidal Lines"] == "from €152"
    Product.objects.filter(sku=SIGNED).update(is_listed=False)
    assert wall(client, "?max=39")["Tidal Lines"] == "Sold out in 30 × 40 cm"


def test_a_size_that_is_sold_out_says_so_whatever_others_there_are(client: Client) -> None:
    save({"north-swell": 0})
    assert wall(client, "?size=30x40")["North Swell"] == "Sold out in 30 × 40 cm"
    assert wall(client, "?size=30x40&max=45")["North Swell"] == "Sold out in 30 × 40 cm"
    save({"north-swell-60x80": 0})
    signed = Product.objects.get(sku="north-swell-60x80-signed").price // 100
    assert wall(client, "?size=60x80")["North Swell"] == f"from €{signed} in 60 × 80 cm"
    assert "North Swell" not in wall(client, f"?size=60x80&max={signed - 1}")


def put_in(client: Client, sku: str, quantity: int) -> str:
    return text_of(
        client.post("/cart/add/", {"sku": sku, "quantity": quantity}, follow=True).content.decode()
    )


def test_the_cart_says_at_the_line_that_there_are_fewer_and_changes_it_with_one_tap(client: Client) -> None:
    put_in(client, LARGE, 4)
    save({LARGE: 3})
    text = page(client, "/cart/")
    assert "Only 3 left" in text
    assert "Change to 3" in text
    assert "Go to checkout" not in text
    client.post("/cart/change/", {"sku": LARGE, "quantity": 3})
    assert "Go to checkout" in page(client, "/cart/")
    save({LARGE: 0})
    text = page(client, "/cart/")
    assert "Sold out" in text
    assert "Take it out" in text
    grow_old()
    assert "Go to checkout" in page(client, "/cart/")


def highest(client: Client) -> tuple[str, bool]:
    """The most that the quantity field of the only line takes, and whether its button for one more can be used."""
    html = client.get("/cart/").content.decode()
    (most,) = re.findall(r'<input class="input input--number stepper__number"[^>]*max="(\d+)"', html)
    buttons = re.findall(r'<button class="stepper__step"[^>]*>', html)
    return most, "disabled" not in buttons[-1]


def test_the_cart_says_how_few_are_left_and_takes_no_more_than_that(client: Client) -> None:
    assert "left" not in put_in(client, LARGE, 2)
    assert highest(client) == ("99", True)
    save({LARGE: 3})
    assert "Only 3 left" in page(client, "/cart/")
    assert highest(client) == ("3", True)
    client.post("/cart/change/", {"sku": LARGE, "quantity": 3})
    assert highest(client) == ("3", False)
    text = text_of(client.post("/cart/change/", {"sku": LARGE, "quantity": 40}, follow=True).content.decode())
    assert client.session["cart"] == {LARGE: 3}
    assert "There are only 3 left, and they’re all in your cart." in text
    assert "Change to 3" not in text
    grow_old()
    assert "Only 3 left" not in page(client, "/cart/")
    assert highest(client) == ("99", True)


def test_the_product_page_takes_as_many_as_the_cart(client: Client) -> None:
    def most(query: str = "") -> tuple[str, dict[str, str]]:
        """Of the quantity field, which is for any of the offers, and of each offer."""
        html = client.get(f"/posters/{LINES}/{query}").content.decode()
        (highest,) = re.findall(r'name="quantity"[^>]*max="(\d+)"', html)
        return highest, dict(re.findall(r'value="([^"]+)"[^>]*data-most="(\d+)"', html))

    skus = Product.objects.filter(sku__startswith=LINES).values_list("sku", flat=True)
    assert most() == ("99", dict.fromkeys(skus, "99"))
    save({**dict.fromkeys(skus, 3), LARGE: 40, SIGNED: 0})
    expected = {**dict.fromkeys(skus, "3"), LARGE: "40", SIGNED: "0"}
    assert most() == most(f"?choice={LINES}") == ("40", expected)


@pytest.mark.parametrize(("quantity", "rest"), [(1, 1), (2, 2), (7, 2), (0, 0)])
def test_what_has_sold_out_since_can_only_be_lowered(client: Client, quantity: int, rest: int) -> None:
    put_in(client, LARGE, 2)
    save({LARGE: 0})
    answer = client.post("/cart/change/", {"sku": LARGE, "quantity": quantity}, follow=True)
    assert client.session["cart"].get(LARGE, 0) == rest
    notice = "“Tidal Lines · 60 × 80 cm · Open edition” has sold out."
    notices = [" ".join(str(message).split()) for message in answer.context["messages"]]
    assert notices == ([notice] if quantity > rest else [])


def test_a_line_of_which_there_are_too_few_can_still_be_lowered_step_by_step(client: Client) -> None:
    put_in(client, LARGE, 9)
    save({LARGE: 3})
    client.post("/cart/change/", {"sku": LARGE, "quantity": 2})
    assert client.session["cart"] == {LARGE: 2}


def test_a_stock_of_more_than_a_few_is_the_most_but_nothing_is_said_of_it(client: Client) -> None:
    put_in(client, LARGE, 1)
    save({LARGE: 40})
    assert "left" not in page(client, "/cart/")
    assert highest(client) == ("40", True)
    save({LARGE: 900})
    assert highest(client) == ("99", True)


def test_more_than_is_left_is_not_put_into_the_cart(client: Client) -> None:
    save({LARGE: 3})
    text = put_in(client, LARGE, 5)
    assert client.session["cart"] == {LARGE: 3}
    assert "There are only 3 left, and they’re all in your cart." in text
    assert "Go to checkout" in text


def test_what_is_sold_out_is_not_put_into_the_cart(client: Client) -> None:
    save({LARGE: 0})
    assert "“Tidal Lines · 60 × 80 cm · Open edition” has sold out." in put_in(client, LARGE, 1)
    grow_old()
    assert "is in your cart" in put_in(client, LARGE, 1)


def test_the_checkout_refuses_more_than_is_left_with_the_reason_before_anything_is_ordered(
    client: Client,
) -> None:
    put_in(client, LARGE, 4)
    sent = {**FORM, "seen_total": client.get("/checkout/").context["cart"].total.amount}
    save({LARGE: 3})
    reason = "Only 3 of “Tidal Lines · 60 × 80 cm · Open edition” are left, and you ordered 4."
    refused = client.post("/checkout/", {**sent, "key": client.session["checkout_key"]})
    assert refused.status_code == 200
    assert reason in text_of(refused.content.decode())
    led_back = client.get("/checkout/", follow=True)
    assert led_back.redirect_chain == [("/cart/", 302)]
    assert reason in text_of(led_back.content.decode())
    assert not SubmissionKey.objects.exists()
    grow_old()
    placed = client.post("/checkout/", {**sent, "key": client.session["checkout_key"]})
    assert placed.status_code == 302
    assert SubmissionKey.objects.count() == 1


def test_an_order_that_took_the_last_prints_is_found_again_if_its_answer_was_lost(client: Client) -> None:
    put_in(client, LARGE, 2)
    shown = client.get("/checkout/").context
    sent = {**FORM, "key": shown["key"], "seen_total": shown["cart"].total.amount}
    before = dict(client.session)
    first = client.post("/checkout/", sent)
    session = client.session  # as if the process had died before it was saved
    session.clear()
    session.update(before)
    session.save()
    save({LARGE: 0})
    again = client.post("/checkout/", sent)
    assert (again.status_code, SubmissionKey.objects.count()) == (302, 1)
    order = read_token(first["Location"].split("/")[2])
    assert order is not None
    assert read_token(again["Location"].split("/")[2]) == order


def test_an_order_for_a_numbered_edition_says_how_many_prints_it_has(client: Client) -> None:
    put_in(client, SIGNED, 1)
    put_in(client, LARGE, 1)
    form = client.get("/checkout/").context
    client.post("/checkout/", {**FORM, "key": form["key"], "seen_total": form["cart"].total.amount})
    run_submission()
    lines = {line["sku"]: line for line in Order.objects.get().data["lines"]}
    assert lines[SIGNED]["edition"] == 100
    assert "edition" not in lines[LARGE]


def offers_of(client: Client) -> dict[str, tuple[str, int | None, int | None]]:
    offers = client.get(f"/api/v1/products/{LINES}").json()["offers"]
    return {offer["sku"]: (offer["availability"], offer["stock"], offer["edition_size"]) for offer in offers}


def test_the_catalogue_of_the_api_says_what_is_left(client: Client) -> None:
    save({LARGE: 3, SIGNED: 0, "tidal-lines-45x60": 80})
    Product.objects.filter(sku="tidal-lines-45x60-signed").update(is_listed=False)
    assert offers_of(client) == {
        LINES: ("in_stock", None, None),
        "tidal-lines-45x60": ("in_stock", 80, None),
        LARGE: ("few_left", 3, None),
        "tidal-lines-45x60-signed": ("not_for_sale", None, None),
        SIGNED: ("sold_out", 0, 100),
    }
    grow_old()
    assert offers_of(client)[LARGE] == ("in_stock", None, None)
    assert offers_of(client)[SIGNED] == ("in_stock", None, 100)


def test_what_search_engines_read_says_the_same(client: Client) -> None:
    save({LARGE: 3, SIGNED: 0})
    html = client.get(f"/posters/{LINES}/").content.decode()
    (block,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', html, re.DOTALL)
    text = {offer["sku"]: offer["availability"] for offer in json.loads(block)["offers"]}
    assert text[LINES] == "https://schema.org/InStock"
    assert text[LARGE] == "https://schema.org/LimitedAvailability"
    assert text[SIGNED] == "https://schema.org/SoldOut"
