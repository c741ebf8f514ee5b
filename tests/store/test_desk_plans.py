"""What operators read costs the same with 30,000 finished orders: no selector reads a whole big table."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection

from orders.engine.figures.minutes import MINUTE, start_of_minute
from orders.engine.runtime.sql import database_now, run
from orders.models import AlertGroup, AuditEntry
from orders.selectors.desk import (
    agents,
    alert_groups,
    alerts,
    cause_acts,
    causes,
    compensation,
    decisions,
    funnel,
    handover,
    inbox,
    incidents,
    order_ids,
    outlook,
    overview,
    search,
    set_aside,
    supervisor,
    workflows,
)
from orders.selectors.desk.filters import NOTHING_DONE, OrderFilter
from orders.selectors.desk.gauges import read_gauges
from orders.selectors.desk.processes import read_roles
from orders.selectors.desk.standing import RetryLimits
from orders.selectors.order_lists import order_list
from orders.selectors.paging import Position
from orders.selectors.selections import Selection
from orders.watchdog.vitals import read_vitals
from tests.support.plans import blocks_of, full_tables, plans_of, some_orders
from tests.support.written_minutes import write_minute

pytestmark = pytest.mark.django_db

__all__ = ["full_tables"]
HOT = {"orders_orderprocess", "orders_stepstate", "orders_event"}


@pytest.fixture(autouse=True)
def own_plan_each_time(db: None) -> Iterator[None]:
    """The server plans each statement of the web for its own parameters."""
    connection.ensure_connection()
    session = connection.connection
    before, session.prepare_threshold = session.prepare_threshold, None
    yield
    session.prepare_threshold = before


def test_no_selector_of_the_desk_reads_a_whole_table_of_orders_steps_or_alerts() -> None:
    now, limits = database_now(), RetryLimits()
    group = AlertGroup.objects.get()
    part = some_orders(1)[0].hex[-8:]
    reads: dict[str, Callable[[], object]] = {
        "agents": lambda: agents.agent_statuses(now=now),
        "orders needing agents": lambda: agents.orders_needing(["kitchen", "oven"]),
        "incidents": lambda: incidents.incidents(
            agents=agents.agent_statuses(now=now), watch=supervisor.supervisor_status(now=now), now=now
        ),
        "supervisor": lambda: supervisor.supervisor_status(now=now),
        "alert groups": lambda: alert_groups.group_summaries(now=now),
        "closed alerts": lambda: alert_groups.closed_alerts(),
        "orders of groups": lambda: alerts.newest_orders_of_groups([group.pk], most=12),
        "alerts of a group": lambda: alerts.alerts_of_group(group, closed=True, after=""),
        "closed alerts of a group": lambda: alerts.closed_alerts_of_group(
            group, after=Position(now, UUID(int=1)), limit=30
        ),
        "compensating orders": lambda: compensation.compensating_orders(
            states=compensation.UNFINISHED, after=None, limit=30, retry_limits=limits, now=now
        ),
        "set aside": lambda: set_aside.set_aside_submissions(),
        "orders": lambda: search.page(OrderFilter(), after=None, limit=30, retry_limits=limits, now=now),
        "waiting orders": lambda: search.page(
            OrderFilter(waiting=NOTHING_DONE), after=None, limit=30, retry_limits=limits, now=now
        ),
        "funnel": lambda: funnel.orders_at_steps(now=now),
        "history of causes": lambda: causes.open_times(since=now - timedelta(hours=8), until=now),
        "history of a cause": lambda: cause_acts.recent_times(group, now=now),
        "hand-over": lambda: handover.read_handover(since=now - timedelta(hours=8), now=now),
        "inbox": lambda: inbox.read_inbox(inbox.InboxView.ALL, account=None, now=now),
        "an order's id": lambda: order_ids.orders_like(part),
    }
    whole = {
        what: set.union(*(plan.scanned_whole for plan in plans_of(read))) & HOT
        for what, read in reads.items()
    }
    assert whole == {what: set() for what in reads}


def test_what_will_be_late_is_found_by_the_queue_alone() -> None:
    now = database_now()
    run(
        """
        UPDATE orders_stepstate SET waiting_since = now(), wanted_since = now()
         WHERE name = 'mix' AND order_id IN (SELECT order_id FROM orders_orderprocess WHERE process_state = 'pending')
        """
    )
    waited_for = agents.agent_statuses(now=now, known_agents=["kitchen"])
    assert outlook.outlooks(waited_for, now=now)[0].waiting == 420
    for read in (outlook.outlooks, outlook.coming_misses):
        plans = plans_of(partial(read, waited_for, now=now))
        assert len(plans) == 1
        assert plans[0].scanned_whole & HOT == set()


def test_the_acts_on_a_cause_are_found_by_what_they_were_on_however_much_was_done_meanwhile() -> None:
    run(
        """
        INSERT INTO orders_auditentry (at, actor, ip_address, act, target, allowed, result, reason)
        SELECT now() - n * interval '1 second', 'ada', '', 'resubmit', 'order ' || n, true, '', ''
          FROM generate_series(1, 10000) AS n
        """
    )
    run("UPDATE orders_alert SET opened_at = now() - interval '1 day' WHERE closed_at IS NULL")
    run("ANALYZE orders_auditentry, orders_alert")
    group = AlertGroup.objects.get()
    AuditEntry.objects.create(actor="ada", act="acknowledge", target=f"group {group.pk}", allowed=True)
    now = database_now()
    ((_, acts), *_) = cause_acts.recent_times(group, now=now)
    assert [act.act for act in acts] == ["acknowledge"]
    assert blocks_of(lambda: cause_acts.acts_on(causes.open_times(since=now, until=now), now=now)) < 3_000
    plans = plans_of(lambda: cause_acts.recent_times(group, now=now))
    (plan,) = (plan for plan in plans if "orders_auditentry" in plan.sql)
    assert "audit_by_target" in plan.indexes and "audit_by_age" not in plan.indexes


def test_the_failed_steps_that_are_to_be_settled_have_an_index_of_their_own() -> None:
    """However many have failed of which it is known that nothing was done."""
    run(
        """
        UPDATE orders_stepstate SET state = 'failed', outcome = CASE priority WHEN 0 THEN 'unknown' ELSE 'refused' END
         WHERE name = 'bake' AND state = 'completed' AND order_id::text < '8'
        """
    )
    run("ANALYZE orders_stepstate")
    now = database_now()
    plans = plans_of(lambda: handover.read_handover(since=now - timedelta(hours=8), now=now))
    own = [plan for plan in plans if '"outcome" = ' in plan.sql]
    assert own and all(plan.indexes == {"step_to_settle"} for plan in own)


def test_the_workflow_looks_at_the_newest_orders_in_error_however_many_there_are() -> None:
    run(
        "UPDATE orders_orderprocess SET process_state = 'error' WHERE process_state = 'processed' AND priority < 3"
    )
    run(
        """
        UPDATE orders_stepstate SET state = 'failed', outcome = 'refused'
         WHERE name = 'bake' AND state = 'completed' AND priority < 3
        """
    )
    run("ANALYZE orders_orderprocess, orders_stepstate")
    for read in (workflows.graphs, funnel.orders_at_steps):
        for plan in plans_of(partial(read, now=database_now())):
            assert plan.scanned_whole & HOT == set()
            assert "step_failed" not in plan.indexes


def test_the_figures_of_a_minute_are_read_by_indexes() -> None:
    """Also when as many orders as there are have ended long before it."""
    run("UPDATE orders_orderprocess SET finished_at = created_at WHERE process_state = 'processed'")
    run("UPDATE orders_alert SET opened_at = opened_at - interval '1 day'")
    run("ANALYZE orders_orderprocess, orders_alert")
    plans = plans_of(lambda: write_minute(start_of_minute(database_now()) - 2 * MINUTE))
    hot = {"orders_orderprocess", "orders_order", "orders_alert"}
    assert set.union(*(plan.scanned_whole for plan in plans)) & hot == set()
    indexes = set.union(*(plan.indexes for plan in plans))
    assert indexes >= {"process_finished", "process_by_state_and_age", "alert_by_opening"}


def test_orders_about_a_subject_are_found_by_an_index() -> None:
    """Of a customer with 20,000 orders, and of open alerts. Of the few open decisions the orders are looked up."""
    customer = User.objects.create(username="ada")
    run(
        """
        INSERT INTO orders_order (id, customer_id, subject, placed_at, total, currency)
        SELECT order_id, %s, 'table ' || row_number() OVER (), created_at, NULL, ''
          FROM orders_orderprocess LIMIT 20000
            ON CONFLICT (id) DO UPDATE SET customer_id = EXCLUDED.customer_id, subject = EXCLUDED.subject
        """,
        [customer.pk],
    )
    run("ANALYZE orders_order")
    now, subject = database_now(), "table 7"
    reads: dict[str, Callable[[], object]] = {
        "orders": lambda: order_list(Selection(customer_id=customer.pk, subject=subject, limit=30)),
        "decisions": lambda: decisions.open_decisions(subject=subject, after=None, limit=30, now=now),
        "alerts": lambda: alerts.open_alerts(
            group=None, kind=None, agent="", subject=subject, before=None, limit=30
        ),
    }
    for what, read in reads.items():
        plans = [plan for plan in plans_of(read) if re.search(r"\borders_order\b", plan.sql)]
        assert plans, what
        for plan in plans:
            assert plan.indexes & {"order_by_subject", "step_to_decide"}, what
            read_whole = {
                node.get("Relation Name") for node in plan.nodes() if node["Node Type"] == "Seq Scan"
            }
            assert read_whole <= {"orders_submissionmessage", "orders_setaside"}, what  # which are short


def test_orders_are_found_by_their_clients_words_with_an_index() -> None:
    """Of a customer with 20,000 orders, each of which has a reference and metadata; a reference also in the console."""
    customer = User.objects.create(username="ada")
    run(
        """
        INSERT INTO orders_order (id, customer_id, reference, metadata, placed_at, total, currency)
        SELECT order_id, %s, 'r' || n, jsonb_build_object('a', n::text), created_at, NULL, ''
          FROM (SELECT *, row_number() OVER () AS n FROM orders_orderprocess LIMIT 20000) AS process
            ON CONFLICT (id) DO UPDATE SET customer_id = EXCLUDED.customer_id, reference = EXCLUDED.reference,
                                           metadata = EXCLUDED.metadata
        """,
        [customer.pk],
    )
    run("ANALYZE orders_order")
    named = Selection(customer_id=customer.pk, limit=30, reference="r7")
    having = Selection(customer_id=customer.pk, limit=30, metadata={"a": "7"})
    reads: dict[str, Callable[[], object]] = {
        "order_by_reference": lambda: order_list(named),
        "order_by_metadata": lambda: order_list(having),
    }
    for index, read in reads.items():
        (plan,) = [plan for plan in plans_of(read) if re.search(r"\borders_order\b", plan.sql)]
        assert index in plan.indexes
        assert "orders_order" not in plan.scanned_whole
    console = OrderFilter(q="r7")
    limits, now = RetryLimits(), database_now()
    searched = plans_of(lambda: search.page(console, after=None, limit=30, retry_limits=limits, now=now))
    assert any("order_by_reference" in plan.indexes for plan in searched)


@pytest.mark.parametrize("query", [{}, {"state": "processed"}, {"older": "1d"}])
def test_the_newest_orders_are_read_by_age_without_sorting_them_all(query: dict[str, str]) -> None:
    """On the first page and on one far behind it."""
    now, limits = database_now(), RetryLimits()
    for after in (None, Position(now - timedelta(days=2), UUID(int=0))):
        newest, *_ = plans_of(
            lambda after=after: search.page(
                OrderFilter(**query), after=after, limit=30, retry_limits=limits, now=now
            )
        )
        assert {"process_by_state_and_age"} <= newest.indexes
        assert newest.indexes <= {
            "process_by_state_and_age",
            "process_overdue",
        }  # the few that are processing
        assert newest.scanned_whole == set()


def test_the_oldest_orders_that_wait_are_read_by_age() -> None:
    figures = plans_of(lambda: overview.overview(now=database_now()))
    pending, ready = (plan for plan in figures if "created_at" in plan.sql)
    assert (pending.indexes, pending.scanned_whole, pending.sorts) == (
        {"process_by_state_and_age"},
        set(),
        False,
    )
    assert "process_ready_by_age" in ready.indexes and not ready.sorts
    vital, _ = plans_of(read_vitals)
    assert "process_ready_by_age" in vital.indexes


def test_the_metrics_and_the_page_of_processes_read_no_whole_table_of_orders() -> None:
    """Nor of submissions and replies, which a role that is down leaves long. Requests are as few as the credit."""
    now = database_now()
    reads: dict[str, tuple[Callable[[], object], int]] = {
        "metrics": (lambda: read_gauges(now=now), 24),
        "processes": (lambda: read_roles(now=now), 12),
    }
    for what, (read, most) in reads.items():
        plans = plans_of(read)
        assert len(plans) <= most, what
        assert set.union(*(plan.scanned_whole for plan in plans)) <= {
            "orders_agentrequest",
            "orders_setaside",
        }, what
