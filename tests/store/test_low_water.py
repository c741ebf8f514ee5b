"""Where a queue's rows begin: what was deleted is not read again, and what commits late is not missed."""

import pytest
from django.db import connection, transaction

from orders.engine.channels import leases, replies
from orders.engine.channels.low_water import READ_ALL_PERIOD, REFRESH_PERIOD, SETTLED_AFTER, LowWater
from orders.engine.circuits.credit import grant_credit
from orders.engine.circuits.rules import BreakerRules
from orders.engine.circuits.store import Viewpoint
from orders.engine.runtime.sql import database_now, fetch, run
from orders.models import AgentReply
from tests.support.factories import make_order, make_reply, step_of
from tests.support.two_sessions import NewSession, Session

pytestmark = pytest.mark.django_db(transaction=True)


class Queue:
    """The reply queue and its low water, with the clock in the test's hand."""

    def __init__(self) -> None:
        self.order = make_order({"mix": "running"}, process_state="processing")
        self.time = 100.0
        self.low_water = LowWater("orders_agentreply", clock=lambda: self.time)
        self.low_water.refresh()

    def post(self) -> int:
        return int(make_reply(step_of(self.order, "mix"), "done", {}).pk)

    def peek(self) -> list[int]:
        with transaction.atomic():
            return [reply_id for reply_id, _ in replies.peek(5, start=self.low_water.start)]

    def pass_time(self, seconds: float) -> None:
        """Lets time pass as for a busy scheduler, which refreshes whenever it may."""
        ends = self.time + seconds
        while self.time < ends:
            self.time = min(ends, self.time + REFRESH_PERIOD)
            self.low_water.refresh()


def test_what_has_been_deleted_is_passed_over_once_nothing_can_appear_there() -> None:
    queue = Queue()
    first, last = queue.post(), queue.post()
    queue.pass_time(SETTLED_AFTER / 2)
    assert queue.low_water.start == 0
    queue.pass_time(SETTLED_AFTER)
    assert queue.low_water.start == first
    AgentReply.objects.filter(pk=first).delete()
    queue.pass_time(2 * REFRESH_PERIOD)
    assert queue.low_water.start == last
    AgentReply.objects.all().delete()
    queue.pass_time(2 * REFRESH_PERIOD)
    assert queue.low_water.start == last + 1
    assert queue.peek() == []
    newest = queue.post()
    assert queue.peek() == [newest]


def test_a_row_that_commits_after_a_later_one_is_not_passed_over(new_session: NewSession) -> None:
    queue, session = Queue(), new_session()
    queue.pass_time(2 * SETTLED_AFTER)
    session.begin()
    late = session.do(queue.post)
    queue.post()
    AgentReply.objects.all().delete()
    queue.pass_time(SETTLED_AFTER / 2)
    assert queue.low_water.start <= late
    session.commit()
    queue.pass_time(3 * SETTLED_AFTER)
    assert queue.low_water.start == late
    assert queue.peek() == [late]


def test_a_row_of_a_transaction_that_took_too_long_is_found_within_a_minute(new_session: NewSession) -> None:
    """No transaction should last that long, but a commit may wait for a standby."""
    queue, session = Queue(), new_session()
    session.begin()
    late = session.do(queue.post)
    queue.pass_time(3 * SETTLED_AFTER)
    assert queue.low_water.start > late
    session.commit()
    queue.pass_time(READ_ALL_PERIOD)
    assert queue.low_water.start == late


def _blocks(sql: str) -> int:
    """The blocks that a statement reads."""
    ((plan,),) = fetch(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}")
    root = plan[0]["Plan"]
    return int(root["Shared Hit Blocks"] + root["Shared Read Blocks"])


def _blocks_of_reads(requests: int, replies_from: int) -> list[int]:
    """The blocks that a scheduler's credit, its look at the replies and a host's claim read."""
    acts = [
        lambda: grant_credit(
            ["kitchen"],
            viewpoint=Viewpoint("scheduler:1", requests),
            rules=BreakerRules(),
            now=database_now(),
        ),
        lambda: replies.peek(200, start=replies_from),
        lambda: leases.claim(room={"kitchen": 10}, me="agents:1", seconds=8.0, start=requests),
    ]
    blocks = []
    for act in acts:
        statements: list[str] = []
        with (
            connection.execute_wrapper(
                lambda execute, sql, params, many, context, into=statements: (
                    into.append(context["cursor"].mogrify(sql, params)),
                    execute(sql, params, many, context),
                )[1]
            ),
            transaction.atomic(),
        ):
            act()
        blocks.append(sum(_blocks(sql) for sql in statements))
    return blocks


@pytest.mark.pattern("F26")
def test_reads_do_not_meet_what_was_deleted_while_a_snapshot_is_held(new_session: NewSession) -> None:
    """A backup keeps 20,000 messages from being cleaned up; each read looked at all of them."""
    run(
        """
        INSERT INTO orders_agentrequest (order_id, step_id, step, agent, operation, attempt, compensates, key, reverses,
                                         body, complete_by, priority, deliveries)
        SELECT gen_random_uuid(), n, 'mix', 'kitchen', 'mix-it', 1, false, n::text, '', '{}',
               now() + interval '1 hour', 5, 0 FROM generate_series(1, 20000) AS n
        """
    )
    run(
        """
        INSERT INTO orders_agentreply (order_id, step_id, attempt, compensates, outcome, body, calls, instance)
        SELECT gen_random_uuid(), n, 1, false, 'done', '{}', 1, 'agents:1' FROM generate_series(1, 20000) AS n
        """
    )
    _hold_snapshot(new_session())
    ((request, reply),) = fetch(
        "SELECT (SELECT max(id) FROM orders_agentrequest), (SELECT max(id) FROM orders_agentreply)"
    )
    run("DELETE FROM orders_agentrequest")
    run("DELETE FROM orders_agentreply")
    run("ANALYZE orders_agentrequest, orders_agentreply")
    assert min(_blocks_of_reads(0, 0)) > 300
    assert max(_blocks_of_reads(request + 1, reply + 1)) < 300


def _hold_snapshot(session: Session) -> None:
    session.begin()
    session.do(lambda: run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
    session.do(lambda: fetch("SELECT count(*) FROM orders_agentrequest"))
