"""Every page that a customer may see, in every state, as the web server answers it. It wants the demonstration's
catalogue, and leaves rows behind."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from django.http import HttpResponse
from django.template.loader import render_to_string
from django.test import Client
from django.utils import timezone, translation

from orders.models import Address, OrderProcess
from orders.services.accounts import NewAddress, save_address
from orders.shop.fulfilment import PAYMENT
from orders.shop.models import Product
from orders.shop.stock import save as save_stock
from orders.shop.storefront.information import PAGES
from tests.services.edited_orders import DATA, a_placed_order
from tests.services.test_corrections import not_served, unanswered, waits
from tests.support.factories import ahead
from tests.support.order_bodies import LONDON
from tests.support.people import person, signed_in
from tests.web.places import UNKNOWN
from tests.web.shopping import STEPS, declined, done, guest_page, shop_order


class Shown(NamedTuple):
    """A page: its name, the path that it is at, its status and its HTML."""

    name: str
    path: str
    status: int
    html: str


def sold_out() -> OrderProcess:
    """An order of which one product has sold out, and one is left of another."""
    detail = {"lines": [{"sku": "tidal-lines", "left": 1}, {"sku": "first-sun", "left": 0}]}
    return a_placed_order({"reserve-stock": waits("sold_out", detail=detail)}, not_before=ahead(3_600))


def sent() -> OrderProcess:
    shipped = {**done("create-shipment")["create-shipment"], "result": {"tracking": "TRACK-1"}}
    steps = {**done(*STEPS), "create-shipment": shipped}
    return shop_order(steps, process_state="processed", finished_at=timezone.now())


def numbered() -> OrderProcess:
    """An order of numbered prints that are a present. Delivery costs something, and there is a tax in the total."""
    data = {
        **DATA,
        "lines": [{**line, "edition": 100} for line in DATA["lines"]],
        "delivery": {"price": 690, "fewest_days": 2, "most_days": 4},
        "tax": {"rate": 2100, "amount": 2324},
        "total": DATA["total"] + 690,
        "gift_note": GIFT_NOTE,
    }
    numbers = {"tidal-lines": [12, 14, 15, 16], "first-sun": [3]}
    editions = [{"sku": sku, "numbers": prints, "of": 100} for sku, prints in numbers.items()]
    steps = done(*STEPS)
    steps["reserve-stock"]["result"] = {"reservation": "rsv_1", "editions": editions}
    return a_placed_order(steps, data=data, process_state="processed", finished_at=timezone.now())


def cancelled(last: int) -> OrderProcess:
    """An order that was cancelled after so many of its steps."""
    steps = {name: {"state": "compensated", "attempt": 2, "outcome": "done"} for name in STEPS[:last]}
    return shop_order(
        steps, process_state="compensated", goal="compensate", finished_at=timezone.now(), title="Tidal Lines"
    )


NOTHING: Mapping[str, str] = {}
GIFT_NOTE = "Happy birthday, Éva! 🎂"
UNDER_WAY = {"reserve-stock": "running", PAYMENT: "completed"}
BEFORE_SHIPMENT = dict.fromkeys(("reserve-stock", PAYMENT), "completed")
RETRIED = {"state": "running", "attempt": 3}
ORDERS: Mapping[str, Callable[[], OrderProcess]] = {
    "fresh": shop_order,
    "under way": lambda: shop_order(UNDER_WAY),
    "payment again": lambda: shop_order({PAYMENT: RETRIED}),
    "carrier again": lambda: shop_order({**BEFORE_SHIPMENT, "create-shipment": RETRIED}),
    "email again": lambda: shop_order(
        {**dict.fromkeys(STEPS[:4], "completed"), "send-confirmation": RETRIED}
    ),
    "skipped": lambda: shop_order({**BEFORE_SHIPMENT, "create-shipment": "skipped"}),
    "late": lambda: shop_order(UNDER_WAY, process_state="processing", age=100_000),
    "declined": lambda: shop_order({**done("reserve-stock"), PAYMENT: declined()}, not_before=ahead(3_600)),
    "bank silent": unanswered,
    "sold out": sold_out,
    "not served": not_served,
    "stopped": lambda: shop_order({"reserve-stock": "failed"}, process_state="error"),
    "sent": sent,
    "numbered": numbered,
    "being cancelled": lambda: shop_order(
        {**BEFORE_SHIPMENT, "create-shipment": "compensating"}, process_state="processing", goal="compensate"
    ),
    "cancelled": lambda: cancelled(4),
    "cancelled unpaid": lambda: cancelled(2),
}
"""An order in every state that its page has words for."""


def every_page(language: str) -> Iterator[Shown]:
    """The pages in a language."""
    Product.objects.update(stock=None, stock_read_at=None)  # a shop that runs may have sold out of something
    visitor = _Visitor(Client(headers={"Accept-Language": language}))
    yield from _wall(visitor)
    yield from _buying(visitor)
    yield from _running_out(visitor)
    yield from _entering(visitor)
    yield from _orders(visitor)
    user = person("customer", f"customer-{language}")
    yield from _account(_Visitor(signed_in(user, headers={"Accept-Language": language})), user.pk)
    with translation.override(language):
        yield from _errors()


class _Visitor:
    """A browser, and what it shows."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def get(self, name: str, path: str) -> Shown:
        return _shown(name, path, self.client.get(path))

    def post(self, name: str, path: str, values: Mapping[str, str] = NOTHING) -> Shown:
        return _shown(name, path, self.client.post(path, values, follow=True))


def _shown(name: str, path: str, response: HttpResponse) -> Shown:
    request: Any = getattr(response, "request", {})
    return Shown(name, request.get("PATH_INFO", path), response.status_code, response.content.decode())


def _wall(visitor: _Visitor) -> Iterator[Shown]:
    yield visitor.get("catalogue", "/")
    yield visitor.get("catalogue by price", "/?family=contours&min=40&sort=title")
    yield visitor.get("catalogue by size", "/?size=60x80&max=100")
    yield visitor.get("catalogue, a word", "/?q=maren")
    yield visitor.get("catalogue, nearest", "/?q=bauhuas")
    yield visitor.get("catalogue, another family", "/?q=tram&family=sun")
    yield visitor.get("catalogue, nothing", "/?max=1")
    yield visitor.get("catalogue, nothing near", "/?q=qqqqqqqq")
    yield visitor.get("poster", "/posters/first-sun/")
    for page in PAGES:
        yield visitor.get(page, f"/{page}/")
    yield visitor.get("not found", "/nothing/")


def _buying(visitor: _Visitor) -> Iterator[Shown]:
    yield visitor.get("cart, empty", "/cart/")
    yield visitor.post("cart, added", "/cart/add/", {"sku": "first-sun", "quantity": "2"})
    yield visitor.post("cart, too many", "/cart/change/", {"sku": "first-sun", "quantity": "100"})
    yield visitor.post("cart, gone", "/cart/add/", {"sku": "nothing", "quantity": "1"})
    yield visitor.get("checkout", "/checkout/")
    choice = {"update": "1", "country": "DE", "gift_note": GIFT_NOTE}
    yield visitor.post("checkout, a country", "/checkout/", choice)
    yield visitor.post("checkout, a state", "/checkout/", {"update": "1", "country": "US", "state": "OR"})
    mistakes = {"email": "ada@", "payment_method": "shells", "country": "US", "gift_note": "www.example.com"}
    yield visitor.post("checkout, mistakes", "/checkout/", mistakes)
    yield visitor.post("cart, removed", "/cart/remove/", {"sku": "first-sun"})


def _running_out(visitor: _Visitor) -> Iterator[Shown]:
    """A poster while its prints run out, and the cart of someone who wants more than are left."""
    poster, edition = "polar-noon", "polar-noon-60x80-signed"
    visitor.client.post("/cart/add/", {"sku": edition, "quantity": "3"})
    save_stock({poster: 0, edition: 2})
    yield visitor.get("poster, few left", f"/posters/{poster}/")
    yield visitor.get("cart, few left", "/cart/")
    yield visitor.post("checkout, few left", "/checkout/", {"email": "ada@"})
    save_stock(dict.fromkeys(Product.objects.filter(sku__startswith=poster).values_list("sku", flat=True), 0))
    yield visitor.get("poster, sold out", f"/posters/{poster}/")
    yield visitor.get("catalogue, sold out", "/?q=polar")
    yield visitor.get("cart, sold out", "/cart/")
    visitor.client.post("/cart/remove/", {"sku": edition})


def _entering(visitor: _Visitor) -> Iterator[Shown]:
    yield visitor.get("find order", "/orders/find/")
    yield visitor.post("find order, mistakes", "/orders/find/", {"number": "7KXM-93DK", "email": ""})
    yield visitor.post("find order, sent", "/orders/find/", {"number": UNKNOWN, "email": "ada@example.com"})
    for page in ("sign-in", "sign-up", "forgotten", "sign-up/sent", "forgotten/sent", "sign-up/old"):
        yield visitor.get(page, f"/account/{page}/")
    yield visitor.post(
        "sign-in, wrong", "/account/sign-in/", {"username": "nobody@example.com", "password": "no"}
    )
    yield visitor.post("sign-up, mistakes", "/account/sign-up/", {"email": "ada@"})
    yield visitor.get("reset, stale", "/account/reset/MQ/old/")


def _orders(visitor: _Visitor) -> Iterator[Shown]:
    pages = {name: guest_page(make()) for name, make in ORDERS.items()}
    for name, path in pages.items():
        yield visitor.get(f"order, {name}", path)
    for name in ("declined", "under way", "sent", "cancelled", "stopped"):
        yield visitor.get(f"cancel, {name}", f"{pages[name]}cancel/")
    for name in ("declined", "cancelled unpaid"):
        yield visitor.get(f"no receipt, {name}", f"{pages[name]}receipt.pdf")
    short = {"lines.tidal-lines": "1", "lines.first-sun": "0"}
    lines = f"{pages['sold out']}correct/lines/"
    yield visitor.get("correct lines", lines)
    yield visitor.post("correct lines, too many", lines, {**short, "lines.tidal-lines": "2"})
    yield visitor.post("correct lines, none", lines, {**short, "lines.tidal-lines": "0"})
    yield visitor.post("correct lines, the sum", lines, short)
    address = f"{pages['not served']}correct/ship_to/"
    yield visitor.get("correct address", address)
    yield visitor.post("correct address, mistakes", address, {"name": "Ada", "country": "XX"})
    yield visitor.post("pay, mistake", f"{pages['declined']}pay/", {"payment_method": "shells"})
    yield visitor.post("pay again", f"{pages['declined']}pay/", {"payment_method": "card_ok"})
    yield visitor.post("pay, too late", f"{pages['declined']}pay/", {"payment_method": "card_ok"})
    yield visitor.post("cancel, now", f"{pages['under way']}cancel/")
    yield visitor.post("order again", f"{pages['sent']}again/")
    yield visitor.post("link again", f"{pages['sent']}renew/")
    yield visitor.get("order, hidden", "/o/nothing/")


def _account(visitor: _Visitor, user_id: int) -> Iterator[Shown]:
    yield visitor.get("account, empty", "/account/")
    yield visitor.get("orders, empty", "/account/orders/")
    yield visitor.get("addresses, empty", "/account/addresses/")
    save_address(user_id=user_id, address=NewAddress(**LONDON))
    user = visitor.client.get("/account/").wsgi_request.user
    for steps in ({PAYMENT: declined()}, UNDER_WAY, {}):
        shop_order(steps, customer=user)
    order = shop_order(done(*STEPS), process_state="processed", finished_at=timezone.now(), customer=user)
    for page in ("", "orders/", "addresses/", "addresses/new/", "password/"):
        yield visitor.get(f"account/{page}", f"/account/{page}")
    address = Address.objects.get(user_id=user_id)
    yield visitor.get("account, address", f"/account/addresses/{address.pk}/")
    yield visitor.post("account, address, mistakes", f"/account/addresses/{address.pk}/", {"name": "Ada"})
    yield visitor.post("account, password, mistakes", "/account/password/", {"old_password": "no"})
    yield visitor.get("account, order", f"/orders/{order.order_id}/")
    visitor.client.post("/cart/add/", {"sku": "first-sun"})
    yield visitor.get("checkout, signed in", "/checkout/")
    yield visitor.post("address deleted", f"/account/addresses/{address.pk}/delete/")


def _errors() -> Iterator[Shown]:
    repeat = {"action": "/", "fields": [], "csrf_token": "t", "wait": 5}
    alone: Mapping[str, Mapping[str, Any]] = {
        **{f"{status}.html": {} for status in ("400", "403", "403_csrf", "500", "503")},
        "429.html": {"minutes": 15},
        "errors/busy.html": {},
        "errors/too_often.html": {"seconds": 20, "minutes": 1},
        "errors/repeat.html": repeat | {"is_typed": True},
        **{
            f"storefront/{name}.html": repeat
            for name in ("unconfirmed", "unchanged_cart", "not_in_cart", "unpaid")
        },
        **{f"errors/{name}.html": repeat for name in ("not_cancelled", "not_corrected")},
        **{f"account/{name}.html": repeat for name in ("not_signed_in", "not_signed_out")},
        "errors/unsent.html": {"is_staff": False, "back": "/cart/"},
    }
    for template, context in alone.items():
        yield Shown(template, f"/shown/{template}", 200, render_to_string(template, dict(context)))
