"""The database is restored to an earlier moment while the remote services keep their effects: `manage.py reconcile`
says what is missing on either side. While all is well, it says nothing, however busy the system is."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.db import connection

from orders.business import registry
from orders.models import OrderProcess
from orders.reconciliation.check import AgentReport, reconcile
from orders.services.audit import Actor
from orders.services.operators.order_acts import compensate
from orders.shop.agents.carrier import Carrier
from orders.shop.agents.payments import Payments
from orders.shop.agents.warehouse import Warehouse
from orders.shop.placing import place_order
from tests.support.factories import ago, new_order
from tests.support.own_database import OwnDatabase
from tests.support.system import ENDED, SERVICES, System
from tests.support.wait import until

ROLES = ("submission", "scheduler", "agents", "jobs")
OPERATOR = Actor(name="operator:ada")
EFFECTS = {
    ("warehouse", "reserve", "reserve-stock"),
    ("payments", "authorise", "authorise-payment"),
    ("payments", "capture", "capture-payment"),
    ("carrier", "create", "create-shipment"),
}
"""What a processed order leaves at the services: agent, operation and step."""


@pytest.fixture
def own_system(database: OwnDatabase, tmp_path: Path) -> Iterator[System]:
    """The system on a server of the test's own."""
    running = System(tmp_path, DATABASE_URL=database.url)
    yield running
    running.end()


def place(system: System, key: str) -> UUID:
    """Places an order as a client that has an idempotency key."""
    order = new_order(system.sku)
    order_id = place_order(client="guest", order=order, idempotency_key=key).order_id
    if order_id not in system.acknowledged:
        system.acknowledged.append(order_id)
    return order_id


def stop_roles(system: System) -> None:
    """Stops every role, as before a restore."""
    for process in [process for process in system.running if process.name in ROLES]:
        process.terminate()
        system.running.remove(process)


def run_reconcile(system: System, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """Runs `manage.py reconcile --json`. Returns its exit code and every discrepancy."""
    ran = system.manage("reconcile", "--json", *arguments)
    assert ran.stderr == ""
    reports = json.loads(ran.stdout)["agents"]
    return ran.returncode, [entry for report in reports for entry in report["discrepancies"]]


def copy_database(database: OwnDatabase, source: str, target: str) -> None:
    """Makes `target` what `source` is."""
    connection.close()
    database.proxy.cut_all()
    with psycopg.connect(database.server.url, dbname="postgres", autocommit=True) as session:
        session.execute(f"DROP DATABASE IF EXISTS {target} WITH (FORCE)".encode())
        session.execute(f"CREATE DATABASE {target} TEMPLATE {source}".encode())


@pytest.mark.pattern("F35")
def test_reconcile_finds_what_a_restored_database_has_forgotten_and_its_advice_repairs_it(
    own_system: System, database: OwnDatabase
) -> None:
    """Lost orders are placed again, and an order whose compensation was forgotten is compensated again: nothing is done
    twice at any service."""
    system = own_system
    (name,) = database.act("SELECT current_database()")[0]
    system.start_all()
    orders = [place(system, f"kept-{number}") for number in range(3)]
    assert system.wait_until_ended() == ["processed"] * 3
    assert run_reconcile(system) == (0, [])
    stop_roles(system)
    copy_database(database, str(name), "backup")

    system.start_all()
    lost = {f"lost-{number}": place(system, f"lost-{number}") for number in range(3)}
    compensate(order_id=orders[0], actor=OPERATOR, reason="a test")
    assert system.wait_until_ended() == ["compensated"] + ["processed"] * 5
    assert run_reconcile(system) == (0, [])
    stop_roles(system)
    before = {service: system.ledger(service) for service in SERVICES}
    copy_database(database, "backup", str(name))

    code, discrepancies = run_reconcile(system)
    assert code == 1
    shown = {
        (entry["kind"], entry["order_id"], entry["agent"], entry["operation"], entry["step"])
        for entry in discrepancies
    }
    assert len(shown) == len(discrepancies)
    assert shown == {
        ("order_unknown", str(order_id), *effect) for order_id in lost.values() for effect in EFFECTS
    } | {("reversed_there", str(orders[0]), agent, operation, step) for agent, operation, step in EFFECTS}

    for key, order_id in lost.items():
        assert place(system, key) == order_id
    assert {entry["kind"] for entry in run_reconcile(system)[1]} == {"reversed_there"}
    system.start_all()
    compensate(order_id=orders[0], actor=OPERATOR, reason="a test")
    assert system.wait_until_ended() == ["compensated"] + ["processed"] * 5
    assert run_reconcile(system) == (0, [])
    assert {service: system.ledger(service) for service in before} == before
    system.check()


def restart_sandbox(system: System, *, save: Path | None = None, load: Path | None = None) -> None:
    """Restarts the sandbox on its port; meanwhile saves its ledger to a folder, or loads it from one."""
    (sandbox,) = [process for process in system.running if process.name == "sandbox"]
    sandbox.terminate()
    system.running.remove(sandbox)
    for source, target in ((system.folder, save), (load, system.folder)):
        if source and target:
            for file in source.glob("sandbox.sqlite3*"):
                shutil.copy(file, target)
    restarted = system.start("sandbox")
    until(lambda: restarted.says("sandbox: http://"), what="the sandbox")


@pytest.mark.pattern("F35")
def test_reconcile_finds_what_a_restored_service_has_forgotten(system: System, tmp_path: Path) -> None:
    """The services go back, and the database does not: exactly the steps since then are not done there."""
    system.start_all()
    kept_orders = system.place(2)
    assert system.wait_until_ended() == ["processed"] * 2
    backup = tmp_path / "backup"
    backup.mkdir()
    restart_sandbox(system, save=backup)
    later_orders = system.place(3)
    assert system.wait_until_ended() == ["processed"] * 5
    assert run_reconcile(system) == (0, [])
    restart_sandbox(system, load=backup)
    code, discrepancies = run_reconcile(system)
    assert code == 1
    shown = {
        (entry["kind"], entry["order_id"], entry["agent"], entry["operation"], entry["step"])
        for entry in discrepancies
    }
    assert len(shown) == len(discrepancies) == len(EFFECTS) * len(later_orders)
    assert shown == {
        ("not_done_there", str(order_id), *effect) for order_id in later_orders for effect in EFFECTS
    }
    assert not any(str(order_id) == entry[1] for order_id in kept_orders for entry in shown)


def compare(system: System) -> list[AgentReport]:
    """Compares the sandbox with the database, as the command does."""
    url = system.sandbox_url
    agents = [Warehouse(f"{url}/warehouse"), Payments(f"{url}/payments"), Carrier(f"{url}/carrier")]
    return reconcile(agents=agents, workflows=registry.workflows(), since=ago(3_600))


@pytest.mark.pattern("F35")
def test_a_busy_system_has_no_discrepancies(system: System) -> None:
    """Orders are placed, retried, declined and compensated while they are compared, again and again."""
    system.start_all()
    for service in SERVICES:
        system.faults(service, latency_ms=[0, 40], lost_reply_rate=0.2)
    rounds = 0
    compared = 0
    while rounds < 12 or not set(system.states()) <= set(ENDED):
        if rounds < 12:
            system.place(6)
            system.place(1, payment_method="card_declined")
            for order_id in OrderProcess.objects.filter(goal="complete").values_list("order_id", flat=True)[
                :2
            ]:
                compensate(order_id=order_id, actor=OPERATOR, reason="a test")
        for report in compare(system):
            compared += (report.effects or 0) + (report.steps or 0)
            assert report.discrepancies == []
            assert (report.fault, report.foreign, report.is_full) == ("", 0, False)
        rounds += 1
    assert compared > 200
    system.no_faults()
    system.wait_until_ended()
    assert all(report.discrepancies == [] and not report.is_incomplete for report in compare(system))
    system.check()
