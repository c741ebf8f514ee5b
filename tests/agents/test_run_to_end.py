"""`run_to_end` with an order of the shop, and what it says to a test that cannot work."""

from pathlib import Path
from uuid import UUID

import pytest

from orders import wiring
from orders.demo import loading
from orders.engine.errors import Declined, Transient
from orders.models import Circuit, OrderProcess
from orders.shop.models import Product
from orders.shop.placing import place_order
from orders.testing import LostAnswer, run_to_end, running
from tests.sandbox.process import Sandbox
from tests.support.factories import new_order


@pytest.fixture
def order_id(
    transactional_db: None, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> UUID:
    monkeypatch.setenv("SANDBOX_BIND", f"127.0.0.1:{sandbox.port}")
    loading.load(tmp_path)
    sku = Product.objects.order_by("sku").values_list("sku", flat=True)[0]
    return place_order(client="guest", order=new_order(sku)).order_id


@pytest.mark.pattern("C1", "C6")
def test_an_order_is_run_to_its_end(order_id: UUID) -> None:
    ended = run_to_end(order_id)
    assert (ended.state, ended.seconds_skipped) == ("processed", 0.0)
    assert {step.state for step in ended.steps.values()} == {"completed"}
    assert ended.events[0] == ("received", "")
    assert ended.events[-1] == ("processed", "")


@pytest.mark.pattern("V1", "V2", "A8")
def test_an_order_that_waits_costs_no_time(order_id: UUID) -> None:
    ended = run_to_end(order_id, faults={"warehouse": [Transient("down", "closed")] * 20})
    assert ended.state == "processed"
    assert ended.seconds_skipped > 30


@pytest.mark.pattern("A3")
def test_a_lost_answer_is_asked_for_again(order_id: UUID, sandbox: Sandbox) -> None:
    lost = LostAnswer(fault=Transient("cut", "the answer was lost"))
    ended = run_to_end(order_id, faults={"carrier": [lost]})
    assert ended.state == "processed"
    keys = [entry["key"] for entry in sandbox.ledger("carrier") if entry["order_id"] == str(order_id)]
    assert len(keys) == 1


@pytest.mark.pattern("C10")
def test_an_order_whose_customer_never_comes_back_is_compensated(order_id: UUID) -> None:
    """An hour of waiting for the customer passes in the rows."""
    ended = run_to_end(order_id, faults={"payments": [Declined("no_funds", "not enough money")]})
    assert ended.state == "compensated"
    assert ended.seconds_skipped > 3_500
    assert (ended.steps["authorise-payment"].error or {})["code"] == "no_funds"


@pytest.mark.pattern("C10")
def test_an_order_is_compensated_on_request(order_id: UUID) -> None:
    assert run_to_end(order_id).state == "processed"
    ended = run_to_end(order_id, compensate=True)
    assert ended.state == "compensated"
    assert ended.steps["capture-payment"].state == "compensated"


@pytest.mark.pattern("V3")
def test_a_day_of_waiting_for_a_paused_agent_passes_at_once(order_id: UUID) -> None:
    Circuit.objects.create(agent="payments", paused=True, held_by="operator:test")
    ended = run_to_end(order_id)
    assert ended.state == "error"
    assert (ended.steps["authorise-payment"].error or {})["code"] == "agent_unavailable"
    assert 86_000 < ended.seconds_skipped <= 86_400


def test_an_order_that_waits_for_nothing_that_time_brings_fails_the_test(
    order_id: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one of a version that this release does not have."""
    monkeypatch.setattr(running, "IDLE", 0.5)
    wiring.submission().run_once()
    OrderProcess.objects.filter(pk=order_id).update(version=99)
    with pytest.raises(AssertionError, match=r"the order has waited 0 times and does not end:\n.* received"):
        run_to_end(order_id)


def test_a_fault_of_an_unknown_agent_is_refused(order_id: UUID) -> None:
    with pytest.raises(AssertionError, match=r"faults name \['warehose'\], which are no agents"):
        run_to_end(order_id, faults={"warehose": []})


@pytest.mark.django_db
def test_a_test_within_a_transaction_is_told_what_it_needs() -> None:
    with pytest.raises(AssertionError, match=r"needs @pytest.mark.django_db\(transaction=True\)"):
        run_to_end(UUID(int=0))
