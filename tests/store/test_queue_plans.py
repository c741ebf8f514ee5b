"""What is asked of one response queue costs the same however many messages there are on others."""

import json
import re
from collections.abc import Callable
from uuid import uuid4

import pytest

from orders.engine.runtime.sql import run
from orders.models import StatusMessage
from orders.selectors import queue_lists, response_queues
from orders.services.response_queues import acknowledge_messages, lease_messages, release_messages
from tests.support.plans import plans_of, ran_by

pytestmark = pytest.mark.django_db

QUEUE = "user:7/q3"


@pytest.fixture
def many_messages(db: None) -> None:
    """20,000 messages on 200 queues of 20 clients, two about each order."""
    run(
        """
        INSERT INTO orders_statusmessage (queue, order_id, kind, body)
        SELECT 'user:' || n % 20 || '/q' || n / 20 % 10, md5((n / 400)::text || n % 200)::uuid, 'received', '{}'
          FROM generate_series(0, 19999) AS n
        """
    )
    run("ANALYZE orders_statusmessage")


def test_no_act_on_a_queue_reads_the_messages_of_others(many_messages: None) -> None:
    numbers = [*StatusMessage.objects.filter(queue=QUEUE).order_by("id").values_list("pk", flat=True)[:10]]
    assert len(numbers) == 10
    acts: dict[str, Callable[[], object]] = {
        "list": lambda: response_queues.queue_messages(queue=QUEUE, after=0, limit=50),
        "lease": lambda: lease_messages(queue=QUEUE, limit=10, seconds=60),
        "versions": lambda: response_queues.versions([(QUEUE, None), (QUEUE, numbers[-1])]),
        "acknowledge": lambda: acknowledge_messages(queue=QUEUE, lease=None, message_ids=numbers),
        "release": lambda: release_messages(queue=QUEUE, lease=uuid4(), message_ids=numbers),
    }
    for name, act in acts.items():
        for plan in plans_of(act):
            whole = [
                node
                for node in plan.nodes()
                if node["Node Type"] == "Seq Scan" and node["Relation Name"] == "orders_statusmessage"
            ]
            assert not whole, (name, plan.sql)


def test_the_queues_of_a_client_are_found_by_their_index(many_messages: None) -> None:
    """Only a plan that has been carried out shows how the names are found, one after the other."""
    (statement,) = ran_by(lambda: queue_lists.queues(customer_id=7, after="", limit=50))
    plan = json.dumps(statement.explain("ANALYZE, "))
    conditions = re.findall('"Index Cond": "([^"]*)"', plan)
    assert any("~>~" in condition and "~<~" in condition for condition in conditions), conditions
    assert "Seq Scan" not in plan
