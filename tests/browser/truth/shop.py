"""The running shop with short time limits, and when which fault was set."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from django.conf import settings

from orders.fields.order_numbers import spoken_number
from tests.browser.running import Shop
from tests.browser.truth.facts import Effect, FaultSpan, Occurred, Story
from tests.browser.truth.letters import moment_of, seconds
from tests.browser.truth.moments import Moment
from tests.support.system import SERVICES, Process
from tests.support.wait import until
from tests.web.server import Server

ROLES = ("submission", "scheduler", "agents", "jobs")
PROMISE = 8.0
"""Seconds within which orders are promised to be done, so that what a fault holds up for longer is late."""
QUICK = {
    "STEP_COMPLETE_BY": "2",
    "ORDER_COMPLETE_BY": f"{PROMISE:g}",
    "SUPERVISOR_PERIOD": "0.2",
    "FAILURE_THRESHOLD": "3",
    "PROBE_PERIOD": "0.5",
    "RAMP": "0.5",
    "CUSTOMER_WAIT": "60",
}
FOREVER = float("inf")


@dataclass(kw_only=True)
class HurriedShop:
    """The shop at `url`, whose roles have the limits of `QUICK`."""

    url: str
    shop: Shop
    spans: list[FaultSpan] = field(default_factory=list)

    def faults(self, service: str, **faults: Any) -> None:
        """Sets faults at a remote service, and remembers since when."""
        now = time.time()
        self.spans += [
            FaultSpan(service=service, name=name, value=value, since=now, until=FOREVER)
            for name, value in faults.items()
        ]
        self.shop.faults(service, **faults)

    def lift(self, service: str = "") -> None:
        """Removes the faults of one service, or of all."""
        if service:
            present = self.shop.system._call("GET", "/_faults")[service]
            empty = {name: type(value)() for name, value in present.items()}
            self.shop.faults(service, **empty | {"latency_ms": [0, 0], "error_status": 503})
        else:
            self.shop.system.clear_faults()
            self._forget_stock()
        now = time.time()
        self.spans = [
            replace(span, until=min(span.until, now)) if service in ("", span.service) else span
            for span in self.spans
        ]

    def events(self, order: UUID) -> list[Occurred]:
        """The order's history."""
        rows = self._rows(
            "SELECT kind, step, extract(epoch FROM at) FROM orders_event WHERE order_id = %s ORDER BY id",
            order,
        )
        return [Occurred(kind=kind, step=step, at=float(at)) for kind, step, at in rows]

    def data(self, order: UUID) -> dict[str, Any]:
        """What is ordered, at which price and where to, as the store has it."""
        ((data,),) = self._rows("SELECT data FROM orders_order WHERE id = %s", order)
        return dict(data)

    def state(self, order: UUID) -> str:
        """The state of the order's process; empty until it is inserted."""
        rows = self._rows("SELECT process_state FROM orders_orderprocess WHERE order_id = %s", order)
        return rows[0][0] if rows else ""

    def messages(self, order: UUID) -> list[tuple[Any, ...]]:
        """The emails about the order that are in the outbox: what of, the state, the last error."""
        return self._rows(
            "SELECT coalesce(arguments->>'update', kind), state, error FROM orders_outgoingmessage"
            " WHERE order_id = %s ORDER BY id",
            order,
        )

    def is_told(self, order: UUID) -> bool:
        """Whether no email about the order waits to be sent now, or is being sent."""
        waiting = "SELECT 1 FROM orders_outgoingmessage WHERE order_id = %s AND due_at < now() + interval '5 seconds'"
        return not self._rows(waiting, order)

    def story(self, order: UUID, acts: Story) -> tuple[Story, list[Moment]]:
        """What the test did with an order, completed with all that is in the ledgers and the order's history; and the
        emails about it."""
        emails = [email for email in self.shop.system.ledger("mail") if is_about(email, order)]
        alerts = self._rows(
            "SELECT extract(epoch FROM opened_at) FROM orders_alert WHERE order_id = %s", order
        )
        effects = [
            Effect(operation=entry["operation"], at=seconds(entry["at"]), amount=entry.get("amount", 0))
            for service in SERVICES
            for entry in self.shop.system.ledger(service)
            if entry["order_id"] == str(order)
        ]
        story = replace(
            acts,
            effects=sorted(effects, key=lambda effect: effect.at),
            events=self.events(order),
            emails=[(seconds(email["at"]), email["subject"]) for email in emails],
            alerts=[float(at) for (at,) in alerts],
            faults=self.spans,
            versions=[*acts.versions, self.data(order)],
            promise=PROMISE,
        )
        return story, [moment_of(email) for email in emails]

    def _forget_stock(self) -> None:
        """Forgets what the warehouse said was left, so that the next customer is offered what the last saw sold out."""
        with psycopg.connect(self.shop.database) as connection:
            connection.execute(
                "UPDATE orders_product SET stock = NULL, stock_read_at = NULL WHERE stock IS NOT NULL"
            )

    def hurry_emails(self) -> None:
        """Has late orders looked for at once, and emails sent at once that are held back for half a minute.

        The reader's row changes once for each look: a pass that finds it changed leaves the work to another.
        """
        with psycopg.connect(self.shop.database) as connection:
            connection.execute(
                "UPDATE orders_orderupdatereader SET looked_for_late_at = looked_for_late_at - interval '1 minute'"
                " WHERE looked_for_late_at > now() - interval '30 seconds'"
            )
            connection.execute(
                "UPDATE orders_outgoingmessage SET due_at = now() WHERE kind = 'order_update'"
                " AND due_at BETWEEN now() AND now() + interval '30 seconds'"
            )

    def _rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.shop.database) as connection:
            return connection.execute(sql.encode(), values).fetchall()


def is_about(email: dict[str, Any], order: UUID) -> bool:
    """Whether an email of the ledger is about this order."""
    return email["order_id"] == str(order) or f"({spoken_number(order)})" in email["subject"]


@contextmanager
def hurried(shop: Shop, folder: Path) -> Iterator[HurriedShop]:
    """Runs the shop with other limits until the block ends: with new roles, and a web server of its own."""
    system = shop.system
    usual = system.environment["PUBLIC_URL"]
    server = Server(
        folder / "web.log",
        database_url=shop.database,
        VAR_DIR=str(system.folder),
        SECRET_KEY=settings.SECRET_KEY,
        **QUICK,
    )
    url = f"http://127.0.0.1:{server.port}"
    try:
        _restart(shop, PUBLIC_URL=url, **QUICK)
        until(server.answers, what="the web server")
        yield HurriedShop(url=url, shop=shop)
    except BaseException:
        print(system.logs(), server.log.read_text(errors="replace")[-4000:])
        raise
    finally:
        server.end()
        system.clear_faults()
        _restart(shop, PUBLIC_URL=usual)


def _restart(shop: Shop, **environment: str) -> None:
    roles = [process for process in shop.system.running if _is_role(process) and not process.has_ended]
    with ThreadPoolExecutor(len(roles)) as threads:
        list(threads.map(Process.terminate, roles))
    for role in ROLES:
        shop.system.start(role, **environment)


def _is_role(process: Process) -> bool:
    return any(process.log.name.endswith(f"-{role}.log") for role in ROLES)
