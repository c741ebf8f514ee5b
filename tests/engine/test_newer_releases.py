"""While two releases run side by side, an older agent host leaves what it does not know to a newer one (rule 10)."""

import pytest

from orders.models import AgentReply, AgentRequest
from tests.support.agents import ScriptedAgent
from tests.support.hosts import a_request
from tests.support.roles import a_host

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("A9")]


class Kitchen(ScriptedAgent):
    """An agent that names its operations."""

    def __init__(self, *operations: str) -> None:
        super().__init__("kitchen")
        self.operations = operations


def test_an_older_host_leaves_a_new_operation_to_a_newer_host() -> None:
    request = a_request(operation="fold-it")
    older, newer = Kitchen("mix-it"), Kitchen("mix-it", "fold-it")
    a_host(older, instance="agents:older").run_once()
    assert (AgentRequest.objects.get().deliveries, older.requests) == (0, [])
    a_host(newer, instance="agents:newer").run_once()
    assert (AgentReply.objects.get().outcome, newer.requests[0].key) == ("done", request.key)


def test_an_agent_that_names_no_operations_is_asked_for_any() -> None:
    a_request(operation="fold-it")
    kitchen = ScriptedAgent("kitchen")
    a_host(kitchen).run_once()
    assert len(kitchen.requests) == 1
