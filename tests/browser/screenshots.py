"""Takes a screenshot of every page, wide and narrow, light and dark, into screenshots/ (bin/screenshots [NAME…]).

Starts the whole system with a temporary database and demonstration orders. Ends with status 1 when a page answered
with the wrong status, wrote to the browser's console (as a breach of the content security policy does), or is wider
than the window. A new page is one more line in `SHOTS`.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import django
from django.core.management import call_command
from playwright.sync_api import Browser, Page, Playwright, sync_playwright

from tests.browser import buying
from tests.browser.chromium import launch
from tests.support.order_bodies import EMAIL, LONDON

PROJECT = Path(__file__).resolve().parents[2]
FOLDER = PROJECT / "screenshots"

WIDTHS = {1280: 900, 390: 844}
SCHEMES = ("light", "dark")


class Shot(NamedTuple):
    """A page to take a screenshot of. `act` does something with it first: signs in, fills a field, opens a panel."""

    name: str
    path: str
    act: Callable[[Page], object] | None = None
    status: int = 200


PASSWORD = "four green herons at noon"
DESK = "/console/sign-in/"
FAILED = "/console/orders/?state=error"
ARCHIVED = "/console/orders/?state=processed&older=90d"
ORDER, ALERT, BULK = "main tr[data-row] a[data-key='e']", "a.cause__message", "main a[href*='/bulk/new/']"


def sign_in(page: Page, then: str) -> None:
    """Signs in as a customer with orders and addresses (`add_customer`), and goes on to a page."""
    page.get_by_label("Email").fill(EMAIL)
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main button").click()
    page.wait_for_load_state("networkidle")
    page.goto(then)


def desk(path: str) -> Callable[[Page], object]:
    """Signs in to the console, and goes on to a page of it."""

    def go(page: Page) -> None:
        page.get_by_label("Name", exact=True).fill("olga")
        page.get_by_label("Password").fill(PASSWORD)
        page.locator("form .button--main").click()
        page.wait_for_url(lambda url: "/sign-in/" not in url)
        page.goto(path)

    return go


def desk_link(path: str, *links: str) -> Callable[[Page], object]:
    """Signs in to the console, goes on to a page of it, and follows the first link that each CSS selector finds."""

    def go(page: Page) -> None:
        desk(path)(page)
        for link in links:
            page.locator(link).first.click()
            page.wait_for_load_state("load")

    return go


def start_bulk_action(page: Page) -> None:
    """Starts a bulk action for an alert group, and stays on the page that shows it."""
    desk_link("/console/alerts/", ALERT, BULK)(page)
    page.locator("form[action$='/bulk/create/'] .button--main, form .button--main").first.click()
    page.wait_for_url(lambda url: "/bulk/" in url and "/new/" not in url)


def add_operator() -> None:
    """Somebody who may do everything in the console."""
    # Imported late, because it imports models.
    from tests.support.people import person  # noqa: PLC0415

    person("admin", "olga", password=PASSWORD)


def add_customer() -> None:
    """A customer with an account, four orders and two addresses."""
    # Imported late, because they import models.
    from django.contrib.auth.models import User  # noqa: PLC0415

    from orders.services.accounts import NewAddress, save_address  # noqa: PLC0415
    from orders.shop.placing import NewLine, NewOrder, place_order  # noqa: PLC0415

    user = User.objects.create_user(EMAIL, EMAIL, PASSWORD)
    save_address(user_id=user.pk, address=NewAddress(**LONDON))
    save_address(user_id=user.pk, address=NewAddress(**LONDON | {"name": "A. Lovelace", "city": "Ockham"}))
    for skus, card in (
        (("tidal-lines", "first-sun", "polar-noon", "quiet-summit", "harbour-at-two"), "card_ok"),
        (("first-sun",), "card_declined"),
        (("polar-noon", "harbour-at-two"), "card_hangs"),
        (("desert-memory",), "card_ok"),
    ):
        lines = [NewLine(sku=sku, quantity=1) for sku in skus]
        order = NewOrder(lines=lines, ship_to=LONDON, email=user.email, payment_method=card)
        place_order(client=f"user:{user.pk}", order=order)


def sign_in_wrongly(page: Page, times: int = 1) -> None:
    """Tries wrong passwords for an email address that has no account."""
    for _ in range(times):
        if page.get_by_label("Email").count():
            page.get_by_label("Email").fill("nobody@example.com")
            page.get_by_label("Password").fill("not the password")
            page.locator("main button").click()


SHOTS: Sequence[Shot] = (
    Shot("catalogue", "/"),
    Shot("catalogue-family", "/?family=contours&sort=-price"),
    Shot("catalogue-price", "/?min=40&max=60", lambda page: page.locator("summary").click()),
    Shot("catalogue-search", "/?q=maren"),
    Shot("catalogue-nothing", "/?q=hippopotamus"),
    Shot("poster", "/posters/first-sun/"),
    Shot(
        "poster-dark-frame",
        "/posters/harbour-at-two/",
        lambda page: page.get_by_label("Dark frame").check(),
    ),
    Shot("poster-large", "/posters/quiet-summit/?choice=quiet-summit-60x80-signed"),
    Shot("sign-in", "/account/sign-in/?next=/account/orders/"),
    Shot("sign-in-wrong", "/account/sign-in/", sign_in_wrongly),
    Shot("sign-up", "/account/sign-up/"),
    Shot("sign-up-sent", "/account/sign-up/sent/"),
    Shot("forgotten", "/account/forgotten/"),
    Shot("link-stale", "/account/sign-up/old/", status=410),
    Shot("account", "/account/sign-in/", lambda page: sign_in(page, "/account/")),
    Shot("account-orders", "/account/sign-in/", lambda page: sign_in(page, "/account/orders/")),
    Shot("account-addresses", "/account/sign-in/", lambda page: sign_in(page, "/account/addresses/")),
    Shot("account-address", "/account/sign-in/", lambda page: sign_in(page, "/account/addresses/new/")),
    Shot("account-password", "/account/sign-in/", lambda page: sign_in(page, "/account/password/")),
    Shot("cart-empty", "/cart/"),
    Shot("cart", "/cart/", buying.fill_cart),
    Shot("cart-gone", "/cart/", buying.show_gone),
    Shot("checkout", "/", buying.fill_checkout),
    Shot("checkout-mistakes", "/", buying.fail_checkout),
    Shot("order-under-way", "/", buying.order("card_hangs", "working")),
    Shot("order-complete", "/", buying.order("card_ok", "way.")),
    Shot("order-declined", "/", buying.order("card_declined", "declined")),
    Shot("order-cancel", "/", buying.ask_to_cancel),
    Shot("order-cancelled", "/", buying.cancel),
    Shot("order-find", "/orders/find/"),
    *(
        Shot(f"console-{path.strip('/') or 'overview'}", DESK, desk(f"/console/{path}"))
        for path in (
            *("", "orders/", "set-aside/", "alerts/", "bulk/", "compensation/"),
            *(
                "agents/",
                "supervisor/",
                "workflow/",
                "outbox/",
                "audit/",
                "chaos/",
                "second-factor/",
                "tokens/",
            ),
        )
    ),
    Shot("console-sign-in", DESK),
    Shot("console-order", DESK, desk_link("/console/orders/?state=processed", ORDER)),
    Shot("console-order-failed", DESK, desk_link(FAILED, ORDER)),
    Shot("console-order-cancel", DESK, desk_link(FAILED, ORDER, "a[href$='/compensate/']")),
    Shot("console-orders-archived", DESK, desk(ARCHIVED)),
    Shot("console-order-archived", DESK, desk_link(ARCHIVED, ORDER)),
    Shot("console-erase", DESK, desk_link(ARCHIVED, ORDER, "a[href$='/erase/']")),
    Shot("console-bulk-archived", DESK, desk("/console/bulk/new/?older=90d")),
    Shot("console-step-settle", DESK, desk_link(FAILED, ORDER, "a[href$='/settle/']")),
    Shot("console-group", DESK, desk_link("/console/alerts/", ALERT)),
    Shot("console-bulk-new", DESK, desk_link("/console/alerts/", ALERT, BULK)),
    Shot("console-bulk-action", DESK, start_bulk_action),
    Shot("not-found", "/design/404.html"),
    Shot("broken", "/design/500.html"),
    Shot("unavailable", "/design/503.html"),
    Shot("design", "/design/"),
)


@contextmanager
def running_shop() -> Iterator[str]:
    """Runs the whole product with a temporary database, places orders, and yields the shop's URL."""
    os.environ["DEBUG"] = "1"
    django.setup()
    # Imported late, because they import models.
    from tests.support.finished_orders import archive  # noqa: PLC0415
    from tests.support.system import System, database_url  # noqa: PLC0415
    from tests.support.wait import until  # noqa: PLC0415
    from tests.web.server import Server  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    with tempfile.TemporaryDirectory(prefix="sasweb-screenshots-") as folder:
        system = System(Path(folder))
        server = Server(
            Path(folder) / "web.log",
            database_url=database_url(),
            VAR_DIR=folder,
            SANDBOX_BIND=system.sandbox_url.removeprefix("http://"),
        )
        try:
            system.start_all()
            ended = system.place(6) + system.place(payment_method="card_declined")
            system.wait_until_ended(ended)
            (graces,) = system.place(email="grace@example.com")
            system.wait_until_ended([graces])
            archive(graces)
            system.place(2, payment_method="card_hangs")
            add_customer()
            add_operator()
            until(server.answers, what="the web server")
            yield f"http://127.0.0.1:{server.port}"
        finally:
            server.end()
            system.end()


def main(names: Sequence[str]) -> int:
    """Takes the screenshots of these pages, or of all. Returns the exit status."""
    shots = [shot for shot in SHOTS if not names or shot.name in names]
    if unknown := set(names) - {shot.name for shot in SHOTS}:
        print(
            f"no such page: {', '.join(sorted(unknown))}; there are {', '.join(shot.name for shot in SHOTS)}"
        )
        return 2
    FOLDER.mkdir(exist_ok=True)
    with running_shop() as url, sync_playwright() as playwright:
        complaints = list(take_all(playwright, url, shots))
    for complaint in complaints:
        print(complaint)
    print(f"{len(shots) * len(WIDTHS) * len(SCHEMES)} pictures in {FOLDER}")
    return 1 if complaints else 0


def take_all(playwright: Playwright, url: str, shots: Sequence[Shot]) -> Iterator[str]:
    """Takes every screenshot; yields what is wrong with the pages."""
    browser = launch(playwright)
    for shot in shots:
        for width in WIDTHS:
            for scheme in SCHEMES:
                name = f"{shot.name}-{width}-{scheme}"
                for complaint in take(browser, url, shot, width, scheme, FOLDER / f"{name}.png"):
                    yield f"{name}: {complaint}"
    browser.close()


def take(browser: Browser, url: str, shot: Shot, width: int, scheme: str, to: Path) -> list[str]:
    """Takes one screenshot of the whole page; returns what is wrong with the page."""
    size = {"width": width, "height": WIDTHS[width]}
    context = browser.new_context(viewport=size, color_scheme=scheme, base_url=url)  # type: ignore[arg-type]
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"script: {error}"))
    # Leaving a page aborts the requests it has under way. That is no failure.
    page.on(
        "requestfailed",
        lambda request: (
            request.failure == "net::ERR_ABORTED"
            or complaints.append(f"failed: {request.url} {request.failure}")
        ),
    )
    page.on(
        "request", lambda request: request.url.startswith(url) or complaints.append(f"outside: {request.url}")
    )
    answer = page.goto(shot.path, wait_until="networkidle")
    if answer is None or answer.status != shot.status:
        complaints.append(f"answered {answer.status if answer else 'nothing'}, not {shot.status}")
    if shot.act:
        shot.act(page)
    page.evaluate("for (const image of document.images) image.loading = 'eager'")
    page.wait_for_load_state(
        "load" if shot.path == DESK else "networkidle"
    )  # a console page keeps its stream open
    page.evaluate("Promise.allSettled([...document.images].map(image => image.decode()))")
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        complaints.append(f"wider than {width} px")
    page.screenshot(path=to, full_page=True)
    context.close()
    return complaints


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sasweb.settings")
    sys.exit(main(sys.argv[1:]))
