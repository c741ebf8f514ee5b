"""While the database is stopped or hangs, everybody is answered 503 on every page, soon, with what is true."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from orders.access.guest_links import read_token
from orders.access.hashed_sessions import SessionStore
from orders.models import SubmissionMessage
from orders.shop.models import Product
from tests.support.own_database import OwnDatabase
from tests.support.people import PASSWORD, person, signed_in, token_of
from tests.support.wait import until
from tests.web.helpers import ORDERS
from tests.web.server import Answer, Server
from tests.web.shopping import FORM, guest_page, shop_order
from tests.web.waiters import Waiter, until_held

AT_MOST = 10.0
"""Seconds in which everybody has an answer."""
CSRF = "a" * 32
"""A browser's CSRF secret, and the token in each of its forms."""
CHECKOUT = {**FORM, "key": "checkout-of-this-page", "name": 'Ada "><script>alert(1)</script>'}


class Form(HTMLParser):
    """The form on a page that is sent again: its fields, and where it is sent."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}
        self.scripts: list[str] = []
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = attributes["action"]
        elif tag == "input":
            assert attributes["type"] == "hidden"
            self.fields[attributes["name"]] = attributes["value"]
        elif tag == "script":
            self.scripts.append(attributes["src"])


class Place(NamedTuple):
    """The web with four threads, what each visitor sends with a request, and the page of a guest's order."""

    server: Server
    visitors: Mapping[str, Mapping[str, str]]
    order_page: str

    def get(self, visitor: str, path: str, method: str = "GET") -> Answer:
        """Asks for a page; `ORDER` stands for that of the order."""
        path = path.replace("ORDER/", self.order_page)
        return self.server.request(method, path, headers=self.visitors[visitor], timeout=60)

    def post(self, visitor: str, path: str, fields: Mapping[str, str], *, token: str = CSRF) -> Answer:
        """Sends a form."""
        body = urlencode({**fields, "csrfmiddlewaretoken": token}).encode()
        headers = {**self.visitors[visitor], "Content-Type": "application/x-www-form-urlencoded"}
        path = path.replace("ORDER/", self.order_page)
        return self.server.request("POST", path, body=body, headers=headers, timeout=60)


@pytest.fixture(scope="module")
def place(database: OwnDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    log = tmp_path_factory.mktemp("web") / "log"
    server = Server(
        log,
        database_url=database.server.url,
        application="tests.web.few_threads:application",
        SECRET_KEY=settings.SECRET_KEY,
    )
    try:
        visitors = _visitors()
        until(server.answers, what="the web server")
        yield Place(server, visitors, guest_page(shop_order()))
    finally:
        server.end()


def _visitors() -> Mapping[str, Mapping[str, str]]:
    """Each with what the browser or the program sends. Who has been here has a session."""
    Product.objects.create(sku="first-sun", title="First Sun", artist="Oriol B.", price=4900)
    ada, olga = person("customer", "ada", password=PASSWORD), person("operator", "olga")
    return {
        "stranger": {"Cookie": _cookies()},
        "buyer": {"Cookie": _cookies(_new_session())},
        "customer": {"Cookie": _cookies(_session_of(signed_in(ada)))},
        "operator": {"Cookie": _cookies(_session_of(signed_in(olga)))},
        "program": {"Authorization": f"Token {token_of(ada)}", "Content-Type": "application/json"},
    }


def _new_session() -> str:
    """A session with a print in its cart."""
    session = SessionStore()
    session["cart"] = {"first-sun": 1}
    session.create()
    return str(session.session_key)


def _session_of(browser: Client) -> str:
    return browser.cookies[settings.SESSION_COOKIE_NAME].value


def _cookies(session_key: str = "") -> str:
    session = f"; {settings.SESSION_COOKIE_NAME}={session_key}" if session_key else ""
    return f"{settings.CSRF_COOKIE_NAME}={CSRF}{session}"


@pytest.fixture
def stopped(place: Place, database: OwnDatabase) -> Iterator[None]:
    """Time without a database, after which the web finds it again."""
    _until_it_answers(place)
    database.crash()
    yield
    database.start()
    _until_it_answers(place)


def _until_it_answers(place: Place) -> None:
    until(lambda: place.get("buyer", "/cart/").status == 200, seconds=30, what="the cart")


WITHOUT_SESSION = (
    "/cart/",
    "/checkout/",
    "/account/",
    "/account/orders/",
    "/orders/find/",
    "/console/",
    "/admin/",
)
"""What shows a stranger an empty cart or an empty form, or asks her to sign in, whatever the database does."""
PAGES = (
    *("/", "/posters/first-sun/", "/account/sign-in/", "ORDER/", "ORDER/progress/", "ORDER/cancel/"),
    *WITHOUT_SESSION,
)


@pytest.mark.pattern("F2")
@pytest.mark.usefixtures("stopped")
def test_everybody_is_told_on_every_page(place: Place) -> None:
    for visitor in ("stranger", "buyer", "customer", "operator"):
        for page in PAGES:
            for method in ("GET", "HEAD"):
                answer = place.get(visitor, page, method)
                if visitor == "stranger" and page in WITHOUT_SESSION:
                    assert answer.status in (200, 302), page
                    continue
                assert answer.status == 503, (visitor, page)
                assert answer.headers["refresh"] == answer.headers["retry-after"]
                assert "no-store" in answer.headers["cache-control"]
                assert "set-cookie" not in answer.headers
                if method == "GET":
                    assert b"his page reloads" in answer.body
                    assert (b"The database does not answer" in answer.body) == (
                        "/console" in page or "admin" in page
                    )


FORMS: Mapping[str, Mapping[str, str]] = {
    "/checkout/": CHECKOUT,
    "/cart/add/": {"sku": "first-sun", "quantity": "1"},
    "/cart/change/": {"sku": "first-sun", "quantity": "2"},
    "/cart/remove/": {"sku": "first-sun"},
    "/orders/find/": {"number": "ABCD-EFGH", "email": "ada@example.com"},
    "/account/sign-in/": {"username": "ada@example.com", "password": PASSWORD},
    "/account/sign-up/": {"email": "ada@example.com", "next": "/checkout/"},
    "/account/forgotten/": {"email": "ada@example.com"},
    "/account/addresses/new/": {"name": "Ada Lovelace", "country": "NL"},
    "/account/addresses/00000000-0000-4000-8000-000000000000/": {"name": "Ada Lovelace"},
    "/account/addresses/00000000-0000-4000-8000-000000000000/delete/": {},
    "/account/sign-out/": {},
    "/account/password/": {"old_password": PASSWORD, "new_password1": "a newer password"},
    "/account/reset/MQ/set-password/": {"new_password1": "a newer password"},
    "ORDER/cancel/": {},
    "ORDER/pay/": {"payment_method": "bank_transfer"},
    "ORDER/correct/ship_to/": {"name": "Ada Lovelace", "agreed": "4900"},
    "ORDER/again/": {},
    "ORDER/renew/": {},
    "/console/agents/warehouse/pause/": {"note": "for the night"},
}
WITH_PASSWORDS = {"/account/password/", "/account/reset/MQ/set-password/"}
FOR_OPERATORS = {"/console/agents/warehouse/pause/"}
REPEATED = set(FORMS) - WITH_PASSWORDS - FOR_OPERATORS
BY_HAND = {"/account/sign-in/"}
"""Whose password has to be typed again."""


@pytest.mark.pattern("F2")
@pytest.mark.usefixtures("stopped")
def test_everybody_is_told_after_a_form_and_only_what_is_harmless_is_sent_again(place: Place) -> None:
    for visitor in ("buyer", "customer", "operator"):
        for path, fields in FORMS.items():
            answer = place.post(visitor, path, fields)
            assert answer.status == 503, (visitor, path)
            assert "refresh" not in answer.headers
            assert PASSWORD.encode() not in answer.body
            form = Form(answer.body)
            if path in REPEATED:
                assert form.action == path.replace("ORDER/", place.order_page)
                assert form.fields.pop("csrfmiddlewaretoken")
                assert len(form.fields.pop("attempt")) == 32
                assert form.fields == {name: text for name, text in fields.items() if name != "password"}
                assert (b"data-repeats=" in answer.body) == (path not in BY_HAND)
            else:
                assert (form.action, form.fields) == ("", {})
                assert not any(value.encode() in answer.body for value in fields.values() if len(value) > 3)


@pytest.mark.pattern("F2")
@pytest.mark.usefixtures("stopped")
def test_a_form_that_meets_the_outage_again_stays_the_same_form(place: Place) -> None:
    for path in REPEATED:
        first = Form(place.post("buyer", path, FORMS[path]).body).fields
        token = first.pop("csrfmiddlewaretoken")
        again = Form(place.post("buyer", path, first, token=token).body).fields
        assert again.pop("csrfmiddlewaretoken") != token
        assert again == first, path


@pytest.mark.pattern("F2")
@pytest.mark.usefixtures("stopped")
def test_a_form_of_another_site_is_not_made_one_of_ours(place: Place) -> None:
    for path in REPEATED:
        answer = place.post("buyer", path, {**CHECKOUT, "name": "Mallory"}, token="b" * 32)
        assert answer.status in (403, 503)
        assert Form(answer.body).fields == {}
        assert b"Mallory" not in answer.body


@pytest.mark.pattern("F2")
@pytest.mark.usefixtures("stopped")
def test_the_api_answers_its_problem_also_to_a_request_with_a_cookie(place: Place) -> None:
    order = f"{ORDERS}/00000000-0000-4000-8000-000000000000"
    program = place.visitors["program"]
    for method, path in (("GET", order), ("GET", "/api/v1/products"), ("GET", ORDERS), ("POST", ORDERS)):
        for headers in (program, {**program, "Cookie": _cookies("someones")}):
            body = b"{}" if method == "POST" else None
            answer = place.server.request(method, path, body=body, headers=headers, timeout=60)
            assert (answer.status, answer.json["code"]) == (503, "unavailable")
            assert answer.headers["content-type"] == "application/problem+json"
            assert int(answer.headers["retry-after"]) > 0


@pytest.mark.pattern("S3", "F2")
def test_an_order_that_met_an_outage_is_sent_again_from_the_page_and_placed_once(
    place: Place, database: OwnDatabase
) -> None:
    """The cart is still there, what was typed is kept, and the token of the form on the page is valid."""
    visitor = {"Cookie": _cookies(_new_session())}
    place = place._replace(visitors={"buyer": visitor})
    _until_it_answers(place)
    page = place.get("buyer", "/checkout/").body.decode()
    key = page.partition('name="key" value="')[2].partition('"')[0]
    sent = {**CHECKOUT, "key": key, "seen_total": "4900"}
    database.crash()
    first = place.post("buyer", "/checkout/", sent)
    again = Form(place.post("buyer", "/checkout/", sent).body)
    database.start()
    assert b"nothing was ordered" in first.body
    token = again.fields.pop("csrfmiddlewaretoken")
    again.fields.pop("attempt")
    assert again.fields == sent
    _until_it_answers(place)
    answers = [place.post("buyer", again.action, again.fields, token=token) for _ in range(2)]
    assert [answer.status for answer in answers] == [302, 302]
    links = [answer.headers["location"].split("/") for answer in answers]
    assert [link[1] for link in links] == ["o", "o"]
    message = SubmissionMessage.objects.get()
    assert [read_token(link[2]) for link in links] == [message.order_id] * 2


@pytest.mark.pattern("F2")
def test_while_the_database_hangs_a_crowd_has_its_answer_soon_and_the_database_is_found_again(
    place: Place, database: OwnDatabase
) -> None:
    """Fifty requests at four threads, each of which waits until the database is known to hang; beside them one that the
    API holds, and the stream of a page."""
    _until_it_answers(place)
    ada = User.objects.get(username="ada")
    order = f"{ORDERS}/{shop_order(customer=ada).order_id}"
    waiting = Waiter(place.server, order, token_of(ada), Prefer="wait=60")
    stream = Waiter(place.server, f"/events{place.order_page}", "")
    until_held(place.server, waits=1)
    until(stream.is_answered, what="the stream")
    asks: list[Callable[[], Answer]] = [
        *[lambda: place.get("stranger", "/")] * 15,
        *[lambda: place.get("buyer", "/checkout/")] * 10,
        *[lambda: place.get("customer", "/account/orders/")] * 10,
        *[lambda: place.post("buyer", "/checkout/", CHECKOUT)] * 5,
        *[lambda: place.get("program", "/api/v1/products")] * 8,
        *[lambda: place.get("buyer", f"/events{place.order_page}")] * 2,
    ]
    with ThreadPoolExecutor(len(asks) + 2) as crowd:
        database.hang()
        try:
            answers = [crowd.submit(_timed, ask) for ask in [*asks, waiting.answer]]
            end = crowd.submit(_timed, stream.answer)
            health, seconds = _timed(lambda: place.server.request("GET", "/healthz"))
            assert (health.status, seconds < 1) == (200, True)
            for answer in answers:
                response, seconds = answer.result(60)
                assert (response.status, seconds < AT_MOST) == (503, True), seconds
            page, seconds = end.result(60)
            assert (page.status, seconds < AT_MOST) == (200, True), "the page goes on as if all were well"
            assert b"event: behind" in page.body
            late, seconds = _timed(lambda: place.get("buyer", "/cart/"))
            assert (late.status, seconds < 2) == (503, True)
            static, seconds = _timed(lambda: place.get("stranger", "/static/css/tokens.css"))
            assert (static.status, seconds < 2) == (200, True)
        finally:
            database.resume()
    begun = time.monotonic()
    _until_it_answers(place)
    assert time.monotonic() - begun < 5


def _timed(ask: Callable[[], Answer]) -> tuple[Answer, float]:
    begun = time.monotonic()
    answer = ask()
    return answer, time.monotonic() - begun
