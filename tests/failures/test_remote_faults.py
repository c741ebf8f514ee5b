"""The remote services are slow, down, lose answers or refuse; every order is finished, compensated or escalated."""

import pytest

from orders.models import Alert, Circuit, Event, OrderProcess, StatusMessage
from orders.services.act_results import ResultStatus
from orders.services.order_changes import compensate_order, resubmit_order
from tests.support.factories import ago, step_of
from tests.support.roles import status_kinds
from tests.support.system import System
from tests.support.wait import until


@pytest.mark.pattern("C6", "Q2", "Q3", "A4")
def test_an_order_goes_in_and_comes_out_processed(system: System) -> None:
    """Nothing fails: each effect happens once, and the application gets three status messages."""
    system.start_all()
    (order_id,) = system.place(reply_to="guest/orders")
    assert system.wait_until_ended() == ["processed"]
    assert system.effects(order_id) in (
        ["reserve", "authorise", "create", "capture"],
        ["authorise", "reserve", "create", "capture"],
    )
    messages = StatusMessage.objects.filter(queue="guest/orders", order_id=order_id).order_by("id")
    assert list(messages.values_list("kind", flat=True)) == ["received", "started", "completed"]
    system.check()


@pytest.mark.pattern("A2", "A3")
def test_a_reply_lost_after_the_effect_makes_one_effect(system: System) -> None:
    """F11, F15: the agent tries again with the same key, and gets the first answer."""
    system.start_all()
    for service in ("warehouse", "payments", "carrier"):
        system.faults(service, lost_reply_rate=0.5)
    system.place(20)
    until(lambda: Event.objects.filter(kind="call_failed").count() >= 10, what="lost replies")
    system.no_faults()
    assert system.wait_until_ended() == ["processed"] * 20
    system.check()


@pytest.mark.pattern("A5", "V1", "V2", "C8")
def test_a_remote_that_hangs_past_complete_by_is_tried_again(system: System) -> None:
    """The agent is silent, the supervisor frees the order, and a scheduler retries the step when the remote answers."""
    system.faults("carrier", hang_rate=1.0)
    system.start_all()
    (order_id,) = system.place()
    until(
        lambda: Event.objects.filter(order_id=order_id, kind="step_timed_out").exists(),
        what="the sweep that finds the step",
    )
    assert not Event.objects.filter(order_id=order_id, kind="step_failed").exists()
    system.no_faults()
    assert system.wait_until_ended() == ["processed"]
    assert step_of(order_id, "create-shipment").attempt >= 2
    assert OrderProcess.objects.get(order_id=order_id).failure_count >= 1
    system.check()


@pytest.mark.pattern("V3", "O1", "O2", "C7")
def test_a_remote_that_stays_down_ends_in_error_and_a_resubmission_fixes_it(system: System) -> None:
    """Out of patience, the order is in Error with one alert; resubmitted once the cause is gone, it keeps its key."""
    system.faults("carrier", down=True)
    system.environment |= {"FAILURE_THRESHOLD": "2", "PATIENCE": "3", "PROBE_PERIOD": "60"}
    system.start_all()
    (order_id,) = system.place(reply_to="guest/orders")
    assert system.wait_until_ended() == ["error"]
    alert = Alert.objects.get(order_id=order_id)
    assert (alert.kind, alert.step, alert.agent, alert.closed_at) == (
        "step_failed",
        "create-shipment",
        "carrier",
        None,
    )
    system.no_faults()
    # Otherwise the next probe may come only after the step's patience.
    Circuit.objects.exclude(state="closed").update(probe_at=ago(1))
    result = resubmit_order(order_id=order_id, by="operator:test", reason="the carrier is back")
    assert result.status is ResultStatus.DONE
    assert resubmit_order(order_id=order_id, by="operator:test").status is ResultStatus.ALREADY
    assert system.wait_until_ended() == ["processed"]
    assert step_of(order_id, "create-shipment").generation == 1
    assert status_kinds(order_id) == ["received", "started", "failed", "completed"]
    system.check()


@pytest.mark.pattern("C10", "A6")
def test_a_declined_card_waits_for_the_customer_and_is_then_compensated(system: System) -> None:
    """A refusal that the customer can resolve opens no alert; if she does not, every effect is compensated."""
    system.start_all()
    (order_id,) = system.place(payment_method="card_declined")
    assert system.wait_until_ended() == ["compensated"]
    assert system.effects(order_id) == ["reserve", "release"]
    assert not Alert.objects.exists()
    mails = [mail for mail in system.ledger("mail") if mail["order_id"] == str(order_id)]
    assert len(mails) == 1
    assert "cancelled" in mails[0]["subject"]
    system.check()


@pytest.mark.pattern("A6", "C7", "O1", "O2")
def test_a_definite_refusal_is_an_error_at_once_and_is_resubmitted_under_a_new_key(system: System) -> None:
    """The remote keeps the refusal under its key, so after the fix only the next key can succeed."""
    system.faults("carrier", refuse_rate=1.0)
    system.start_all()
    (order_id,) = system.place()
    assert system.wait_until_ended() == ["error"]
    system.no_faults()
    resubmit_order(order_id=order_id, by="operator:test")
    assert system.wait_until_ended() == ["processed"]
    assert step_of(order_id, "create-shipment").generation == 2
    system.check()


@pytest.mark.pattern("C10", "T5")
def test_a_processed_order_is_compensated_in_reverse_order(system: System) -> None:
    """An operator compensates a finished order: refund, cancel, void and release, each once."""
    system.start_all()
    orders = system.place(3)
    assert system.wait_until_ended() == ["processed"] * 3
    for order_id in orders:
        assert (
            compensate_order(order_id=order_id, by="operator:test", reason="test").status is ResultStatus.DONE
        )
        assert compensate_order(order_id=order_id, by="operator:test").status is ResultStatus.ALREADY
    assert system.wait_until_ended() == ["compensated"] * 3
    for order_id in orders:
        assert system.effects(order_id)[4:6] == ["refund", "cancel"]
        assert set(system.effects(order_id)[6:]) == {"void", "release"}
    system.check()


@pytest.mark.pattern("C10")
def test_an_order_compensated_while_a_call_is_under_way_waits_for_it(system: System) -> None:
    """F13: the effect of the call that was under way is compensated too, whenever it landed."""
    system.faults("warehouse", latency_ms=[1500, 1500])
    system.start_all()
    (order_id,) = system.place()
    until(lambda: "authorise" in system.effects(order_id), what="the parallel step's effect")
    compensate_order(order_id=order_id, by="operator:test")
    assert system.wait_until_ended() == ["compensated"]
    assert sorted(system.effects(order_id)) == ["authorise", "release", "reserve", "void"]
    system.check()


@pytest.mark.pattern("C10", "V4")
def test_a_compensation_that_fails_for_good_is_an_alert_of_its_own(system: System) -> None:
    """F34: the order stays in Error until an operator resubmits the compensation, under a new key."""
    system.start_all()
    (order_id,) = system.place()
    assert system.wait_until_ended() == ["processed"]
    system.faults("payments", refuse_rate=1.0)
    compensate_order(order_id=order_id, by="operator:test")
    assert system.wait_until_ended() == ["error"]
    assert Alert.objects.get(closed_at=None).kind == "compensation_failed"
    assert "cancel" not in system.effects(order_id)
    system.no_faults()
    resubmit_order(order_id=order_id, by="operator:test")
    assert system.wait_until_ended() == ["compensated"]
    system.check()
