"""The database dies, is cut off, starved and restored, under load; every order ends correctly.

The server is the test's own. The roles reach it through a proxy that can cut a connection around a COMMIT.
"""

import contextlib
import random
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import psycopg
import pytest

from orders.engine.runtime.sql import database_now
from orders.models import AgentRequest, Event, OrderProcess, SubmissionKey
from tests.failures.web_shop import Shop
from tests.support.own_database import OwnDatabase
from tests.support.proxy import Moment
from tests.support.system import Process, System
from tests.support.wait import until


@pytest.fixture(scope="module")
def running(database: OwnDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """One system for the whole file, so that a test's check also sees what the tests before it left behind."""
    system = System(tmp_path_factory.mktemp("system"), DATABASE_URL=database.url)
    system.start_all()
    yield system
    system.end()


@pytest.fixture
def system(running: System, database: OwnDatabase) -> Iterator[System]:
    yield running
    database.proxy.forget_cuts()
    database.proxy.deafen(False)
    running.no_faults()


def _all_processed(system: System) -> None:
    """Checks that every order is processed, except one that a test had compensated."""
    system.no_faults()
    ended = system.wait_until_ended()
    assert ended.count("processed") >= len(ended) - 1, ended
    assert "error" not in ended
    system.check()


@pytest.mark.pattern("T1", "C9", "F21")
def test_stopping_the_server_repeatedly_under_load_loses_no_order(
    system: System, database: OwnDatabase
) -> None:
    """Every session is cut wherever it is. Committed work stays, and the rest is done again."""
    system.faults("carrier", latency_ms=[50, 200])
    for _ in range(3):
        before = Event.objects.count()
        system.place(8)
        until(lambda before=before: Event.objects.count() > before + 20, what="work under way")
        database.crash()
        database.start()
    _all_processed(system)


KINDS = {
    "insert an order": ("INSERT INTO orders_orderprocess",),
    "dispatch a step": ("INSERT INTO orders_agentrequest",),
    "take a reply": ("DELETE FROM orders_agentreply WHERE id",),
    "claim a request": ("deliveries = deliveries + 1",),
    "post a reply": ("INSERT INTO orders_agentreply", "answered AS"),
    "renew a lease": ("UPDATE orders_agentrequest SET leased_until",),
}
"""Each kind of transaction that moves an order, by words in its statements."""
SWEEP = ("orders_leaderlease", "FOR SHARE", "UPDATE orders_stepstate")


@pytest.mark.pattern("T1", "C9", "S3", "A7", "F22")
def test_cutting_connections_around_every_kind_of_commit_loses_no_order(
    system: System, database: OwnDatabase
) -> None:
    """The client cannot know whether its transaction committed: it repeats all of it, or finds it done."""
    system.faults("warehouse", latency_ms=[2500, 2800])  # long enough for leases to be renewed
    cuts = {
        (kind, moment): database.proxy.cut(moment, *words)
        for kind, words in KINDS.items()
        for moment in (Moment.BEFORE_COMMIT, Moment.AFTER_COMMIT)
    }
    for _ in range(30):
        done = [cut.done for cut in cuts.values()]
        if all(done):
            break
        system.place(2)
        until(
            lambda done=done: [cut.done for cut in cuts.values()] != done,
            what=f"a cut besides {[name for name, cut in cuts.items() if cut.done]}",
        )
    _all_processed(system)


@pytest.mark.pattern("S1", "S3", "F2", "F21")
@pytest.mark.parametrize("is_alone", [False, True], ids=["together", "alone"])
def test_a_server_killed_between_the_commit_of_an_order_and_its_answer_has_placed_it_once(
    system: System, shop: Shop, database: OwnDatabase, is_alone: bool
) -> None:
    """The client is told to try again, and its key finds the order."""
    server, key = shop.serve(database.url), f"key of an order {'alone' if is_alone else 'together'}"
    stall = database.proxy.cut(Moment.STALL, "orders_submissionkey")
    with ThreadPoolExecutor(1) as client:
        posted = client.submit(shop.post, server, key, is_alone=is_alone)
        until(lambda: stall.stalled, what="a commit whose answer has not reached the web")
        database.crash()
        first = posted.result(90)
    assert (first.status, first.json["code"]) == (503, "unavailable")
    database.start()
    order_id = SubmissionKey.objects.get(key=key).order_id
    until(lambda: shop.post(server, key).status == 202, what="the web to answer again")
    again = shop.post(server, key)
    assert (again.status, again.headers["idempotent-replayed"]) == (202, "true")
    assert UUID(again.json["id"]) == order_id
    system.acknowledged.append(order_id)
    _all_processed(system)


@pytest.mark.pattern("S1", "S3", "F2", "F21")
def test_a_server_killed_between_the_commit_of_a_batch_and_its_answer_has_placed_each_order_once(
    system: System, shop: Shop, database: OwnDatabase
) -> None:
    """The client is told to try again, and each key finds its order."""
    server = shop.serve(database.url)
    keys = [f"batch-{number}" for number in range(20)]
    stall = database.proxy.cut(Moment.STALL, "orders_submissionkey")
    with ThreadPoolExecutor(1) as client:
        posted = client.submit(shop.post_batch, server, keys)
        until(lambda: stall.stalled, what="a commit whose answer has not reached the web")
        database.crash()
        first = posted.result(90)
    assert (first.status, first.json["code"]) == (503, "unavailable")
    database.start()
    order_ids = dict(SubmissionKey.objects.filter(key__in=keys).values_list("key", "order_id"))
    assert order_ids.keys() == set(keys)
    until(lambda: shop.post_batch(server, keys).status == 200, what="the web to answer again")
    results = shop.post_batch(server, [*keys, "batch-20"]).json["results"]
    assert [(result["status"], result["replayed"]) for result in results] == [(202, True)] * 20 + [
        (202, False)
    ]
    assert [UUID(result["order_id"]) for result in results[:20]] == [order_ids[key] for key in keys]
    system.acknowledged += [UUID(result["order_id"]) for result in results]
    _all_processed(system)


@pytest.mark.pattern("V6", "V2", "F22")
def test_a_sweep_cut_around_its_commit_recovers_a_step_once(system: System, database: OwnDatabase) -> None:
    """The supervisor reconnects and sweeps again; the step's failure is counted once for each time-out."""
    agents = next(process for process in system.running if process.name == "agents")
    system.faults("warehouse", latency_ms=[2500, 2800])  # so that the agent host is stopped in its calls
    cuts = [database.proxy.cut(moment, *SWEEP) for moment in (Moment.BEFORE_COMMIT, Moment.AFTER_COMMIT)]
    system.place(2)
    until(AgentRequest.objects.filter(leased_until__isnull=False).exists, what="a call under way")
    agents.pause()
    try:
        until(lambda: cuts[0].done, what="a sweep cut before its commit")
        until(lambda: cuts[1].done, what="a sweep cut after its commit")
    finally:
        agents.resume()
    _all_processed(system)


@pytest.mark.pattern("O2", "C10", "F22", "F33")
def test_an_operators_act_cut_around_its_commit_can_be_repeated(
    system: System, database: OwnDatabase
) -> None:
    """She gets an error and repeats the command. It acts once: the third time she learns that it is done."""
    (order_id,) = system.place()
    assert system.wait_until_ended([order_id]) == ["processed"]
    for moment in (Moment.BEFORE_COMMIT, Moment.AFTER_COMMIT):
        cut = database.proxy.cut(moment, "UPDATE orders_alert", "UPDATE orders_orderprocess")
        command = system.manage("compensate", str(order_id), "--reason", "test")
        assert (command.returncode, cut.done) == (2, 1), command.stderr
    assert system.manage("compensate", str(order_id), "--reason", "test").returncode == 3
    until(
        lambda: OrderProcess.objects.get(order_id=order_id).process_state == "compensated",
        what="the compensation of the order",
    )
    assert Event.objects.filter(order_id=order_id, kind="compensation_requested").count() == 1
    system.check()


@pytest.mark.pattern("C9", "F23")
def test_ending_backends_at_random_under_load_loses_no_order(system: System, database: OwnDatabase) -> None:
    """A role that loses its session, in whatever statement, opens another and repeats its transaction."""
    chance = random.Random(23)
    for _ in range(8):
        before = Event.objects.count()
        system.place(2)
        until(lambda before=before: Event.objects.count() > before, what="work under way")
        sessions = database.act(
            "SELECT pid FROM pg_stat_activity WHERE usename = 'sasweb' AND pid <> pg_backend_pid()"
        )
        ours = database.own_pid()
        for (pid,) in chance.sample(sessions, k=len(sessions) // 2):
            if pid != ours:
                database.act(f"SELECT pg_terminate_backend({pid})")
    _all_processed(system)


@pytest.mark.pattern("C2", "F23")
def test_listeners_that_no_longer_hear_anything_poll(system: System, database: OwnDatabase) -> None:
    """Their connections stay open but silent: nobody is woken, and every role finds its work at its next poll."""
    database.proxy.deafen()
    system.place(4)
    _all_processed(system)
    database.proxy.deafen(False)
    assert database.proxy.cut_all()
    system.place(2)
    _all_processed(system)


ERRORS = {
    "40001": "serialization failure",
    "40P01": "deadlock",
    "55P03": "lock not available",
    "57014": "statement time-out",
    "53300": "too many connections",
}


@pytest.mark.pattern("C9", "F25")
def test_transient_errors_of_every_statement_lose_no_order(system: System, database: OwnDatabase) -> None:
    """Errors that say nothing about a row: the whole transaction is repeated, whichever statement failed."""
    refused = database.proxy.refuse_each_once(*ERRORS)
    for _ in range(6):
        assert system.wait_until_ended(system.place(3)) == ["processed"] * 3
    assert set(refused.values()) == set(ERRORS)
    assert len(refused) >= 20, sorted(refused)
    database.proxy.forget_cuts()
    _all_processed(system)


@pytest.mark.pattern("T1", "F26")
def test_orders_go_through_while_a_snapshot_is_held(system: System, database: OwnDatabase) -> None:
    """Nothing waits for the snapshot. It costs dead rows, which the check of I13 bounds once it is gone."""
    with psycopg.connect(database.server.url) as holder:
        holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        holder.execute("SELECT count(*) FROM orders_orderprocess")
        assert system.wait_until_ended(system.place(10)) == ["processed"] * 10
    _all_processed(system)


@pytest.mark.pattern("C9", "F31")
def test_running_out_of_connections_loses_no_order(system: System, database: OwnDatabase) -> None:
    """Strangers take every connection of the server. The roles back off, and go on when connections are free again."""
    system.place(5)
    taken = []
    with contextlib.ExitStack() as strangers:
        while len(taken) < 60:
            database.proxy.cut_all()
            with contextlib.suppress(psycopg.OperationalError):
                while True:
                    taken.append(strangers.enter_context(psycopg.connect(database.server.url)))
            if all(process.says("too many clients") for process in _roles(system)):
                break
    _all_processed(system)


def _roles(system: System) -> list[Process]:
    return [process for process in system.running if process.name in ("scheduler", "agents", "submission")]


@pytest.mark.pattern("A7", "C9", "F35")
def test_orders_continue_after_the_database_is_restored_to_an_earlier_moment(
    system: System, database: OwnDatabase
) -> None:
    """Effects after that moment are requested again with the same keys, and the remotes answer from memory."""
    system.faults("carrier", hang_rate=1.0)
    orders = system.place(4)
    until(
        lambda: (
            Event.objects.filter(order_id__in=orders, kind="step_started", step="create-shipment").count()
            >= 4
        ),
        what="orders that are half done",
    )
    database.crash()
    data = database.server.place.data
    copy = data.with_name("copy")
    subprocess.run(["cp", "-a", str(data), str(copy)], check=True)
    database.start()
    system.no_faults()
    assert system.wait_until_ended(orders) == ["processed"] * 4
    assert all("capture" in system.effects(order_id) for order_id in orders)
    ended_at = database_now()
    database.crash()
    shutil.rmtree(data)
    copy.rename(data)
    database.start()
    assert not Event.objects.filter(order_id__in=orders, kind="processed", at__lt=ended_at).exists()
    _all_processed(system)
