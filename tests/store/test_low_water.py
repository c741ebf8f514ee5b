"""Where a queue's rows begin: what was deleted is not read again, and what commits late is not missed."""

import pytest
from django.db import transaction

from orders.engine.channels import leases, replies, submissions
from orders.engine.channels.low_water import READ_ALL_PERIOD, REFRESH_PERIOD, LowWater
from orders.engine.runtime.sql import SETTLED_AFTER, fetch, run
from orders.models import AgentReply
from tests.support.availability import credit_for
from tests.support.factories import make_order, make_reply, step_of
from tests.support.plans import blocks_of
from tests.support.two_sessions import NewSession, hold_snapshot
from tests.support.wait import until

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
    assert queue.low_water.start == 0
    queue.pass_time(SETTLED_AFTER + REFRESH_PERIOD)
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


def _blocks_of_reads(requests: int, replies_from: int, submissions_from: int) -> list[int]:
    """The blocks that a scheduler's credit, its look at the replies, a host's claim and submission read."""
    acts = [
        lambda: credit_for("kitchen", start=requests),
        lambda: replies.peek(200, start=replies_from),
        lambda: leases.claim(room={"kitchen": 10}, me="agents:1", seconds=8.0, start=requests),
        lambda: submissions.take(200, start=submissions_from),
    ]
    return [blocks_of(act) for act in acts]


def test_a_reader_does_not_wait_for_the_limit_if_all_transactions_have_ended(new_session: NewSession) -> None:
    """Somebody who only holds a snapshot takes no ids, so nobody waits for him.

    A transaction of another database on this server delays it, so it is tried until there is none.
    """
    hold_snapshot(new_session())

    def is_passed_over_early() -> bool:
        queue = Queue()
        posted = queue.post()
        AgentReply.objects.all().delete()
        queue.pass_time(3 * REFRESH_PERIOD)
        return queue.low_water.start > posted

    until(is_passed_over_early)


@pytest.mark.parametrize("others_commit", [False, True], ids=["the newest of all", "older than others"])
def test_a_transaction_that_has_taken_an_id_is_waited_for(
    new_session: NewSession, others_commit: bool
) -> None:
    """A snapshot's upper bound says nothing about it: that is the newest transaction which has ended."""
    queue, session = Queue(), new_session()
    queue.pass_time(2 * SETTLED_AFTER)
    session.begin()
    late = session.do(queue.post)
    if others_commit:
        queue.post()
        AgentReply.objects.all().delete()
    for _ in range(int(SETTLED_AFTER / REFRESH_PERIOD) - 2):
        queue.pass_time(REFRESH_PERIOD)
        assert queue.low_water.start <= late
    session.commit()
    assert queue.peek() == [late]


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
    run(
        """
        INSERT INTO orders_submissionmessage (order_id, client, body)
        SELECT gen_random_uuid(), 'guest', '{}' FROM generate_series(1, 20000)
        """
    )
    hold_snapshot(new_session())
    ((request, reply, submission),) = fetch(
        """
        SELECT (SELECT max(id) FROM orders_agentrequest), (SELECT max(id) FROM orders_agentreply),
               (SELECT max(id) FROM orders_submissionmessage)
        """
    )
    run("DELETE FROM orders_agentrequest")
    run("DELETE FROM orders_agentreply")
    run("DELETE FROM orders_submissionmessage")
    run("ANALYZE orders_agentrequest, orders_agentreply, orders_submissionmessage")
    assert min(_blocks_of_reads(0, 0, 0)) > 200
    assert max(_blocks_of_reads(request + 1, reply + 1, submission + 1)) < 200
