"""What the statements cost when 30,000 orders have finished: each finds its rows through an index.

The SQL is captured from the functions themselves, and PostgreSQL explains how it would run exactly that.
"""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from orders.engine import alerts, state_store
from orders.engine.branches import item_name
from orders.engine.channels import leases as request_leases
from orders.engine.channels import oldest_requests, replies, requests, submissions, suspects, unheld
from orders.engine.channels.many_submissions import KeyedSubmission, post_many
from orders.engine.circuits.store import unavailable_agents
from orders.engine.rows import ProcessRow
from orders.engine.runtime.sql import database_now, fetch, run
from orders.engine.scheduler.branching import NewItem
from orders.engine.state_store.feed import look
from orders.engine.state_store.writes import StepWrite
from orders.engine.supervisor import leadership
from orders.models import AgentRequest, OrderProcess, RoleInstance, StepState
from orders.selectors.order_updates import Place, first_place, late_orders, tellings_after
from orders.watchdog.queues import QueueWatch
from tests.support.availability import credit_for
from tests.support.factories import ago
from tests.support.plans import (
    OF_PAUSES,
    forget_statistics,
    full_tables,
    plans_of,
    some_leases,
    some_orders,
)
from tests.support.workflows import CAKES

pytestmark = pytest.mark.django_db

__all__ = ["full_tables"]


@pytest.mark.pattern("C2")
@pytest.mark.parametrize("since", [None, timedelta(minutes=970)], ids=["all", "the latest"])
def test_a_claim_finds_due_and_ready_orders_by_their_own_indexes(since: timedelta | None) -> None:
    now = database_now()
    (claim,) = plans_of(lambda: state_store.claim(50, CAKES, now, since=since and now - since))
    indexes = {"process_waiting", "process_ready_by_age"}
    assert (claim.indexes, claim.scanned_whole, claim.sorts) == (indexes, set(), False)


@pytest.mark.pattern("A9")
def test_steps_that_wait_for_an_agent_are_found_by_priority_and_only_within_its_credit() -> None:
    """Among the steps of 30,000 finished orders, 400 wait: the statistics are those of a day without an outage."""
    run(
        """
        UPDATE orders_stepstate AS s SET waiting_since = now(), priority = p.priority
          FROM orders_orderprocess AS p
         WHERE p.order_id = s.order_id AND p.process_state = 'pending' AND p.not_before IS NULL AND s.name = 'mix'
        """
    )
    held: list[UUID] = []
    rooms = {"kitchen": 30, "oven": 5}

    def claim() -> None:
        held.extend(row.order_id for row in state_store.claim_waiting(rooms, CAKES, [], limit=50, retries=20))

    choose, _ = plans_of(claim)
    assert len(held) == 30
    assert set(OrderProcess.objects.filter(pk__in=held).values_list("priority", flat=True)) == {9}
    assert "step_waiting_by_age" in choose.indexes
    assert choose.scanned_whole == set()


@pytest.mark.pattern("C2", "A9")
@pytest.mark.parametrize("since", [None, timedelta(minutes=970)], ids=["all", "the latest"])
def test_the_oldest_ready_orders_are_found_by_the_index_of_those_by_priority(
    since: timedelta | None,
) -> None:
    now = database_now()
    rows: list[ProcessRow] = []
    choose, _ = plans_of(
        lambda: rows.extend(state_store.claim_aged(50, CAKES, now, since=since and now - since))
    )
    created = dict(OrderProcess.objects.filter(process_state="pending").values_list("pk", "created_at"))
    begins = min(created.values()) if since is None else now - since
    ready = OrderProcess.objects.filter(
        process_state="pending", not_before=None, created_at__gte=begins
    ).order_by("created_at")
    assert {row.order_id for row in rows} == set(ready.values_list("pk", flat=True)[:50])
    assert len({row.priority for row in rows}) == 10
    assert (choose.indexes, choose.scanned_whole) == ({"process_ready_by_age"}, set())


@pytest.mark.pattern("A9")
def test_the_steps_that_have_waited_longest_are_found_by_the_index_of_those_by_priority() -> None:
    run(
        """
        UPDATE orders_stepstate AS s SET waiting_since = p.created_at, wanted_since = p.created_at
          FROM orders_orderprocess AS p
         WHERE p.order_id = s.order_id AND p.process_state = 'pending' AND p.not_before IS NULL AND s.name = 'mix'
        """
    )
    rows: list[ProcessRow] = []
    now = database_now()
    choose, _ = plans_of(
        lambda: rows.extend(
            state_store.claim_aged_waiting({"kitchen": 30, "oven": 5}, CAKES, [], now, limit=50, retries=20)
        )
    )
    oldest = StepState.objects.filter(waiting_since__isnull=False).order_by("wanted_since")[:30]
    assert {row.order_id for row in rows} == set(oldest.values_list("process_id", flat=True))
    assert "step_waiting_by_age" in choose.indexes
    assert choose.scanned_whole == set()


@pytest.mark.pattern("A9")
def test_the_oldest_requests_are_found_by_the_index_of_those_by_priority() -> None:
    claimed: list[request_leases.Lease] = []
    room = {"kitchen": 5, "oven": 50}
    plans = plans_of(lambda: claimed.extend(oldest_requests.claim(room=room, me="agents:2", seconds=8.0)))
    oldest = AgentRequest.objects.filter(agent="kitchen", leased_by="agents:2").order_by("id")
    assert [lease.agent for lease in claimed].count("oven") == 50
    assert oldest.count() == 5
    free = AgentRequest.objects.filter(agent="kitchen", leased_until=None, lapses=0, complete_by__gt=ago(0))
    assert oldest.last().pk < free.order_by("id").first().pk
    choose, lease = plans
    assert (choose.indexes, choose.scanned_whole) == ({"request_free"}, set())
    assert (lease.indexes - OF_PAUSES, lease.scanned_whole) == ({"orders_agentrequest_pkey"}, set())


@pytest.mark.pattern("A9")
def test_waiting_steps_and_known_outages_are_read_by_index() -> None:
    """Requests are counted in a queue that is as long as the credit, however many orders are stored."""
    agents = ["kitchen", "oven"]
    credit, _ = plans_of(lambda: credit_for(*agents))
    assert {"step_waiting_by_age", "one_open_outage_per_agent"} <= credit.indexes
    assert credit.scanned_whole <= {"orders_agentrequest"}
    _, unavailable = plans_of(lambda: unavailable_agents(agents, database_now()))
    assert unavailable.scanned_whole == set()


def test_hot_tables_keep_room_for_updates_and_are_vacuumed_early() -> None:
    hot = ("orders_orderprocess", "orders_stepstate", "orders_agentrequest", "orders_agentreply")
    tables = fetch("SELECT relname, reloptions FROM pg_class WHERE relname = ANY(%s)", [list(hot)])
    assert {
        name: {"autovacuum_vacuum_scale_factor=0.01", "fillfactor=80"} - set(options or ())
        for name, options in tables
    } == {name: set() for name in hot}


@pytest.mark.pattern("V1", "V7")
@pytest.mark.parametrize("since", [None, timedelta(days=1)], ids=["all", "the latest"])
def test_a_sweep_finds_overdue_steps_and_orders_by_their_own_indexes(since: timedelta | None) -> None:
    now = database_now()
    order_ids: set[UUID] = set()
    (overdue,) = plans_of(
        lambda: order_ids.update(state_store.overdue(500, now, since=since and now - since))
    )
    assert len(order_ids) == 10
    assert overdue.indexes == {"step_in_flight", "process_overdue"}
    assert overdue.scanned_whole == set()


def test_orders_not_yet_announced_are_found_by_their_own_index() -> None:
    (plan,) = plans_of(lambda: state_store.unannounced(200, CAKES))
    assert (plan.indexes, plan.scanned_whole) == ({"process_unannounced"}, set())


@pytest.mark.pattern("O1")
def test_the_first_row_of_each_queue_is_found_without_reading_the_others() -> None:
    versions = [[name, version, workflow.fingerprint] for (name, version), workflow in CAKES.items()]
    for role in ("submission", "scheduler", "supervisor", "agents"):
        RoleInstance.objects.create(instance=f"{role}:1", role=role, versions=versions)
    (plan,) = plans_of(QueueWatch().look)
    assert plan.scanned_whole == set()


@pytest.mark.pattern("O1")
def test_each_order_of_a_queue_is_looked_up_although_nothing_is_known_of_the_tables() -> None:
    """Otherwise all orders of the workflows that run were compared with each reply, until the time was up."""
    versions = [[name, version, workflow.fingerprint] for (name, version), workflow in CAKES.items()]
    for role in ("scheduler", "supervisor"):
        RoleInstance.objects.create(instance=f"{role}:1", role=role, versions=versions)
    forget_statistics()
    (plan,) = plans_of(QueueWatch().look)
    reads = [node for node in plan.nodes() if node.get("Relation Name") == "orders_orderprocess"]
    assert {node["Index Name"] for node in reads} == {"orders_orderprocess_pkey", "process_ready_by_age"}
    assert all("Index Cond" in node for node in reads if node["Index Name"] == "orders_orderprocess_pkey")


def test_free_requests_of_an_agent_are_found_by_priority_without_sorting() -> None:
    claimed: list[object] = []
    room = {"kitchen": 5, "oven": 50}
    (claim,) = plans_of(lambda: claimed.extend(request_leases.claim(room=room, me="agents:2", seconds=8.0)))
    assert len(claimed) == 55
    indexes = {"request_free", "orders_agentrequest_pkey"}
    assert (claim.indexes - OF_PAUSES, claim.sorts) == (indexes, False)
    assert claim.scanned_whole <= {"orders_steppause"}


def test_lapsed_leases_are_found_by_their_key() -> None:
    freed: list[int] = []
    (plan,) = plans_of(lambda: freed.append(unheld.free_lapsed()))
    assert freed == [10]
    assert (plan.indexes, plan.scanned_whole) == ({"orders_agentrequest_pkey"}, set())


def test_replies_are_peeked_at_read_and_deleted_by_their_key() -> None:
    def take() -> None:
        ids = [reply for reply, _ in replies.peek(200)]
        replies.send_read(ids).result()
        replies.delete(ids)

    peek, read, delete = plans_of(take)
    assert (peek.indexes, peek.scanned_whole, peek.sorts) == ({"orders_agentreply_pkey"}, set(), False)
    assert (read.indexes, read.scanned_whole) == ({"orders_agentreply_pkey"}, set())
    assert (delete.indexes, delete.scanned_whole) == ({"orders_agentreply_pkey"}, set())


def test_submissions_are_taken_and_deleted_by_their_key() -> None:
    take, delete = plans_of(lambda: submissions.delete([message for message, _ in submissions.take(200)]))
    assert (take.indexes, take.scanned_whole, take.sorts) == (
        {"orders_submissionmessage_pkey"},
        set(),
        False,
    )
    assert (delete.indexes, delete.scanned_whole) == ({"orders_submissionmessage_pkey"}, set())


def test_a_used_idempotency_key_or_reference_is_found_by_its_index() -> None:
    order = some_orders(1)[0]
    _, lookup = plans_of(
        lambda: submissions.post_once(order_id=order, client="guest", body={}, key="77", body_hash="")
    )
    assert (lookup.indexes, lookup.scanned_whole) == (
        {"one_order_per_key", "one_order_per_reference"},
        set(),
    )


def test_many_idempotency_keys_and_the_places_of_their_orders_are_found_by_indexes() -> None:
    used = [KeyedSubmission(order, "guest", {}, str(n), "") for n, order in enumerate(some_orders(50), 1)]
    new = [KeyedSubmission(uuid7(), "guest", {}, f"new {n}", "") for n in range(100)]
    posting, lookup = plans_of(lambda: post_many([*used, *new]))
    assert posting.scanned_whole == set()
    assert (lookup.indexes, lookup.scanned_whole) == ({"one_order_per_key", "one_order_per_reference"}, set())


@pytest.mark.parametrize("number", [1, 200])
def test_no_statement_of_a_pass_reads_a_whole_table(number: int) -> None:
    orders = some_orders(number)
    steps = {
        row.id: row for rows in state_store.steps_of(orders).values() for row in rows if row.attempt == 1
    }
    ask = [
        requests.NewRequest(step_id, "mix-it", "mix,bake", False, f"key{step_id}", "", 5)
        for step_id in list(steps)[:number]
    ]
    acts: dict[str, Callable[[], object]] = {
        "lock": lambda: state_store.lock(orders, CAKES),
        "lock one": lambda: state_store.lock_one(orders[0]),
        "read steps": lambda: state_store.steps_of(orders),
        "write steps": lambda: state_store.write_steps([StepWrite(step, 1) for step in steps.values()]),
        "write processes": lambda: state_store.write_processes(state_store.lock(orders, CAKES)),
        "explain failures": lambda: state_store.last_call_failures(list(steps.values())),
        "discard requests": lambda: requests.discard(list(steps)),
        "post requests": lambda: requests.post(ask),
        "recall requests": lambda: requests.recall(list(steps)),
        "close alerts": lambda: alerts.close_alerts(orders, by="ada", resolution="done"),
        "check the lead": lambda: leadership.renew(
            "x", term=leadership.acquire("x", holder="me", seconds=9) or 0, seconds=9, report={}
        ),
    }
    whole = {what: set.union(*(plan.scanned_whole for plan in plans_of(act))) for what, act in acts.items()}
    assert whole == {what: set() for what in acts}


@pytest.mark.parametrize("number", [1, 200])
@pytest.mark.parametrize("sorts", ["on", "off"], ids=["sorting", "after a claim"])
def test_what_branches_are_decided_on_is_read_and_written_by_keys(number: int, sorts: str) -> None:
    """Also when a claim in the same transaction has made sorting look expensive."""
    orders = some_orders(number)
    run(f"SET LOCAL enable_sort = {sorts}")
    (facts,) = plans_of(lambda: state_store.facts_of(orders))
    assert facts.scanned_whole == set()
    assert facts.indexes == {"orders_order_pkey", "one_state_per_step"}
    joints = [step for steps in state_store.steps_of(orders).values() for step in steps if step.name == "box"]
    items = [NewItem(joint.id, item_name("box", 1), "kitchen", {"box": 1}) for joint in joints]
    (add,) = plans_of(lambda: state_store.add_items(items))
    assert (add.scanned_whole, add.indexes) == (set(), {"orders_stepstate_pkey"})
    assert StepState.objects.filter(name="box:1").count() == len(orders)


@pytest.mark.parametrize("number", [1, 20])
def test_no_statement_of_an_agent_host_reads_the_whole_request_queue(number: int) -> None:
    held = [(request.pk, request.deliveries) for request in some_leases(number)]
    answers = [request_leases.Answer(pk, deliveries, "done", "{}", 1) for pk, deliveries in held]
    acts: dict[str, Callable[[], object]] = {
        "renew": lambda: request_leases.renew(held, me="agents:1", seconds=8.0),
        "complete": lambda: request_leases.complete(answers, me="agents:1"),
        "release": lambda: request_leases.release(
            [request_leases.GivenBack(*lease) for lease in held], me="agents:1"
        ),
        "claim a suspect": lambda: suspects.claim(room={"kitchen": 9}, free=20, me="agents:1", seconds=8.0),
    }
    whole = {what: set.union(*(plan.scanned_whole for plan in plans_of(act))) for what, act in acts.items()}
    assert whole == {what: set() for what in acts}


def test_a_plan_that_reads_a_whole_table_is_noticed() -> None:
    (plan,) = plans_of(lambda: fetch("SELECT count(*) FROM orders_stepstate WHERE agent = %s", ["oven"]))
    assert plan.scanned_whole == {"orders_stepstate"}


def test_what_customers_are_told_of_is_found_by_its_index() -> None:
    look()  # begins the epoch
    *_, first = plans_of(first_place)
    assert "event_to_tell" in first.indexes and first.scanned_whole == set()
    *_, events = plans_of(lambda: tellings_after(Place(0, 0), limit=200))
    assert "event_to_tell" in events.indexes and events.scanned_whole == set()
    now = database_now()
    (late,) = plans_of(lambda: late_orders(["bake-cake"], now=now, limit=200))
    assert late.scanned_whole == set(), late.indexes
