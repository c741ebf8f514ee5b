"""An order is corrected although its parcel may have been sent, while every role is killed (rule 5)."""

from collections.abc import Iterable

import pytest

from orders.services.act_results import ResultStatus
from orders.services.audit import Actor
from orders.services.operators.order_editing import edit_order, editable_order
from tests.support.factories import step_of
from tests.support.roles import history
from tests.support.system import Process, System
from tests.support.wait import until

SHIPMENT = "create-shipment"


def kill(processes: Iterable[Process]) -> None:
    for process in processes:
        process.kill()


@pytest.mark.pattern("O2", "A3", "T6")
def test_a_parcel_whose_answer_was_lost_is_reversed_once_and_sent_once_to_the_new_address(
    system: System,
) -> None:
    """The host dies with the answer. Every role dies once the carrier has reversed the parcel, and again once it has
    the new one."""
    system.environment["FAILURE_THRESHOLD"] = "1"
    system.faults("carrier", lost_reply_rate=1.0)
    doomed = system.start_all()
    (order_id,) = system.place()
    until(lambda: bool(system.ledger("carrier")), what="the parcel")
    doomed["agents"].kill()
    system.faults("carrier", lost_reply_rate=0, hang_rate=1.0)  # nor does it say what has become of the call
    doomed["agents"] = system.start("agents")
    assert system.wait_until_ended(seconds=60) == ["error"]
    kill(doomed.values())
    system.faults("carrier", lost_reply_rate=1.0, hang_rate=0)
    system.environment["FAILURE_THRESHOLD"] = "9"
    gouda = {**editable_order(order_id).values["ship_to"], "city": "Gouda"}
    result = edit_order(
        order_id=order_id,
        changes={"ship_to": gouda},
        seen={},
        actor=Actor(name="operator:test"),
        reason="she moved",
        reverse=[SHIPMENT],
    )
    assert result.status is ResultStatus.DONE
    doomed = system.start_all()
    until(lambda: system.effects(order_id)[-1] == "cancel", what="the reversal")
    kill(doomed.values())
    system.no_faults()
    doomed = system.start_all()
    until(lambda: system.effects(order_id).count("create") == 2, what="the new parcel")
    kill(doomed.values())
    system.start_all()
    assert system.wait_until_ended() == ["processed"]
    effects = system.effects(order_id)
    assert effects[-4:] == ["create", "cancel", "create", "capture"]
    shipment = step_of(order_id, SHIPMENT)
    assert (shipment.generation, shipment.request["ship_to"]["city"]) == (2, "Gouda")
    assert [step for _, step in history(order_id, "step_renewed")] == [SHIPMENT]
    system.check()
