"""The running shop: web server, workers and sandbox as processes, with orders and accounts.

Playwright's loop runs in the tests' thread, where Django then refuses to query the database. So everything that needs
the models happens before the browser starts, and the tests query with SQL.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from django.conf import settings
from django.contrib.auth.models import User

from orders.order_page.addresses import order_url
from orders.services.accounts import NewAddress, save_address
from orders.services.order_changes import compensate_order
from orders.shop.placing import NewLine, NewOrder, place_order
from tests.support.order_bodies import DELFT, EMAIL
from tests.support.people import person
from tests.support.system import System, database_url
from tests.support.wait import until
from tests.support.webhook import Webhook, webhook
from tests.web.server import Server

# Steps are overdue soon, and orders outlive every outage in the tests.
TIMES = {
    "STEP_COMPLETE_BY": "4",
    "ORDER_COMPLETE_BY": "600",
    "SUPERVISOR_PERIOD": "0.3",
    "FAILURE_THRESHOLD": "50",
    "CUSTOMER_WAIT": "900",
}
PASSWORD = "four green herons at noon"
OPS = "ops@example.org"
STAFF = {"olga": "operator", "otto": "operator", "vera": "viewer", "anna": "admin"}
"""Who may sign in to the console with `PASSWORD`, and their access levels."""


@dataclass(frozen=True, kw_only=True)
class Shop:
    """The running shop. `orders` has the urls of order pages, by what became of the order; `alerts` gets the alerts by
    webhook, and `OPS` by email."""

    url: str
    system: System
    database: str
    orders: Mapping[str, str]
    alerts: Webhook

    def faults(self, service: str, **faults: Any) -> None:
        """Sets faults at a remote service."""
        self.system.faults(service, **faults)

    def count(self, sql: str, *values: Any) -> int:
        """The number that a query returns."""
        with psycopg.connect(self.database) as connection:
            row = connection.execute(sql, values).fetchone()  # type: ignore[arg-type]
        assert row is not None
        return int(row[0])

    def orders_of(self, email: str) -> int:
        """How many orders were placed with an email address, including those still in the queue."""
        waiting = "SELECT count(*) FROM orders_submissionmessage"
        until(lambda: self.count(waiting) == 0, what="an empty submission queue")
        return self.count("SELECT count(*) FROM orders_order WHERE email = %s", email)

    def mailed_link(self, email: str) -> str:
        """The link in an email to this address, once the email is there."""

        def link() -> str:
            emails = [message for message in self.system.ledger("mail") if email in str(message)]
            match = re.search(r"https?://[^\s\"\\]+", str(emails[-1]["body"])) if emails else None
            return match.group() if match else ""

        return until(link, what="the email")

    def mailed_text(self, email: str, words: str) -> str:
        """The text of an email to this address in which these words are, once it is there."""

        def text() -> str:
            bodies = [str(message["body"]) for message in self.system.ledger("mail") if email in str(message)]
            return next((body for body in bodies if words in body), "")

        return until(text, what="the email")


@contextmanager
def running_shop(folder: Path) -> Iterator[Shop]:
    """Starts the shop, and stops it at the end."""
    with webhook() as alerts:
        yield from _running(folder, alerts)


def _running(folder: Path, alerts: Webhook) -> Iterator[Shop]:
    to_operators = {
        "ALERT_EMAIL": OPS,
        "ALERT_WEBHOOK_URL": alerts.url,
        "WEBHOOK_NETWORKS": "127.0.0.1",
    }
    system = System(folder, **TIMES, **to_operators)
    server = Server(
        folder / "web.log",
        database_url=database_url(),
        VAR_DIR=str(folder),
        SECRET_KEY=settings.SECRET_KEY,
        **TIMES,
    )
    system.environment["PUBLIC_URL"] = f"http://127.0.0.1:{server.port}"
    try:
        system.start_all()
        orders = _orders(system)
        for name, role in STAFF.items():
            person(role, name, password=PASSWORD)
        until(server.answers, what="the web server")
        yield Shop(
            url=f"http://127.0.0.1:{server.port}",
            system=system,
            database=database_url(),
            orders=orders,
            alerts=alerts,
        )
    except BaseException:
        print(system.logs(), server.log.read_text(errors="replace")[-4000:])
        raise
    finally:
        server.end()
        system.end()


def _orders(system: System) -> dict[str, str]:
    """Orders that have ended, one that waits for its customer, and the orders of two accounts."""
    ada, bob = _customer(EMAIL), _customer("bob@example.com")
    done, refunded = system.place(2)
    (declined,) = system.place(payment_method="card_declined")
    ours, theirs = _order_of(ada), _order_of(bob)
    system.wait_until_ended([done, refunded, ours, theirs])
    compensate_order(order_id=refunded, by="test", reason="the press broke")
    until(lambda: system.states([refunded]) == ["compensated"], what="the refund")
    system.faults("carrier", refuse_rate=1.0)
    (stopped,) = system.place()
    system.wait_until_ended([stopped])
    system.no_faults()
    guests = {"done": done, "refunded": refunded, "declined": declined, "stopped": stopped}
    return {name: order_url(number, is_guest=True) for name, number in guests.items()} | {
        "ada's": order_url(ours, is_guest=False),
        "bob's": order_url(theirs, is_guest=False),
    }


def _customer(email: str) -> int:
    user = User.objects.create_user(email, email, PASSWORD)
    save_address(user_id=user.pk, address=NewAddress(**DELFT))
    return int(user.pk)


def _order_of(customer: int) -> UUID:
    lines = [NewLine(sku="first-sun", quantity=1), NewLine(sku="quiet-summit", quantity=2)]
    order = NewOrder(lines=lines, ship_to=DELFT, email=EMAIL, payment_method="card_ok")
    return place_order(client=f"user:{customer}", order=order).order_id
