"""What people may ask for, against orders in every state and at the worst moment (S1, S3, O2, C10)."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from orders.engine.submission import Submitter, SubmitterConfig
from orders.models import (
    AgentRequest,
    Alert,
    Event,
    Order,
    OrderProcess,
    Product,
    SetAside,
    StepState,
    SubmissionKey,
    SubmissionMessage,
)
from orders.services.orders import NoSuchOrderError, compensate, replay_set_aside, resubmit
from orders.services.placing import KeyReusedError, NewLine, NewOrder, UnknownProductError, place_order
from orders.services.results import ResultStatus
from orders.workflow.intake import OrderIntake
from tests.support.factories import ago, ahead, make_alert, make_order, make_reply, make_request, step_of
from tests.support.roles import (
    a_leader,
    a_scheduler,
    alerts_of,
    all_due,
    answer,
    asked,
    drain,
    event_of,
    everything,
    expire,
    happened,
    states,
    stored,
    told,
)
from tests.support.two_sessions import Session, all_at_once
from tests.support.workflows import CAKE

NewSession = Callable[[], Session]
BAKED = {"mix": "completed", "heat-oven": "completed", "bake": "completed"}
TIMED_OUT = {"state": "failed", "attempt": 3, "outcome": "unknown", "failure_count": 3}

pytestmark = pytest.mark.django_db
both_sessions = pytest.mark.django_db(transaction=True)


def in_error(steps: dict[str, Any], *, kind: str = "step_failed", **process: Any) -> OrderProcess:
    """An order in Error, with its alert."""
    order = make_order(steps, **({"process_state": "error", "started_at": ago(60)} | process))
    make_alert(order.pk, kind=kind, step="", code="no", message="no")
    return order


def alert_closed(order: OrderProcess) -> tuple[str, str]:
    alert = Alert.objects.get(order_id=order.pk)
    assert alert.closed_at is not None
    return alert.closed_by, alert.resolution


# --- placing an order


@pytest.fixture
def product() -> None:
    Product.objects.create(sku="nap", title="Nap", artist="A", price=4900)


def an_order(quantity: int = 1, sku: str = "nap", reply_to: str = "app-1") -> NewOrder:
    return NewOrder(
        lines=[NewLine(sku=sku, quantity=quantity)],
        ship_to={
            "name": "Ada",
            "street": "1 Main St",
            "city": "Paris",
            "postal_code": "75001",
            "country": "FR",
        },
        email="ada@example.org",
        payment_method="card_ok",
        priority=7,
        reply_to=reply_to,
    )


def take_in() -> dict[str, int]:
    role = Submitter(config=SubmitterConfig(instance="submission:a"), intake=OrderIntake(workflow=CAKE))
    return role.run_once().done


@pytest.mark.pattern("S1", "Q2")
def test_placing_an_order_posts_a_message_that_describes_it_and_writes_nothing_else(product: None) -> None:
    placed = place_order(client="guest", order=an_order(3))
    message = SubmissionMessage.objects.get()
    assert (message.order_id, message.client, placed.replayed) == (placed.order_id, "guest", False)
    assert message.body["lines"] == [{"sku": "nap", "title": "Nap", "quantity": 3, "unit_price": 4900}]
    assert (message.body["total"], message.body["currency"]) == (14_700, "EUR")
    assert (message.body["reply_to"], message.body["priority"]) == ("app-1", 7)
    assert not any(table.objects.exists() for table in (Order, OrderProcess, StepState, SubmissionKey))
    assert take_in() == {"accepted": 1, "rejected": 0, "duplicates": 0}
    process = OrderProcess.objects.get()
    assert (process.order_id, process.reply_to, process.priority) == (placed.order_id, "app-1", 7)


@pytest.mark.pattern("S3")
def test_the_same_key_and_order_stand_for_the_same_order_and_one_message(product: None) -> None:
    first = place_order(client="guest", order=an_order(), idempotency_key="k")
    again = place_order(client="guest", order=an_order(), idempotency_key="k")
    assert (first.replayed, again.replayed, again.order_id) == (False, True, first.order_id)
    assert SubmissionMessage.objects.get().order_id == first.order_id
    take_in()
    later = place_order(client="guest", order=an_order(), idempotency_key="k")
    assert (later.replayed, later.order_id) == (True, first.order_id)
    assert not SubmissionMessage.objects.exists()


@pytest.mark.pattern("S3")
def test_a_key_used_again_for_another_order_is_refused_and_posts_nothing(product: None) -> None:
    place_order(client="guest", order=an_order(1), idempotency_key="k")
    with pytest.raises(KeyReusedError):
        place_order(client="guest", order=an_order(2), idempotency_key="k")
    assert SubmissionMessage.objects.get().body["total"] == 4900


@pytest.mark.pattern("S3")
def test_a_key_is_the_clients_own_and_without_one_every_call_is_a_new_order(product: None) -> None:
    placed = {
        place_order(client=client, order=an_order(), idempotency_key=key).order_id
        for client, key in [("guest", "k"), ("user:1", "k"), ("guest", "l"), ("guest", None), ("guest", None)]
    }
    assert len(placed) == SubmissionMessage.objects.count() == 5


@both_sessions
@pytest.mark.pattern("S3")
def test_twenty_posts_of_one_key_at_once_place_one_order(product: None) -> None:
    placed = all_at_once(20, lambda _: place_order(client="guest", order=an_order(), idempotency_key="k"))
    assert len({one.order_id for one in placed}) == 1
    assert sum(not one.replayed for one in placed) == 1
    assert SubmissionMessage.objects.count() == 1


@pytest.mark.pattern("S3")
def test_what_is_not_in_the_catalogue_cannot_be_ordered(product: None) -> None:
    Product.objects.create(sku="gone", title="Gone", artist="A", price=100, is_listed=False)
    for sku in ("gone", "never-was"):
        with pytest.raises(UnknownProductError) as refused:
            place_order(client="guest", order=an_order(sku=sku), idempotency_key="k")
        assert refused.value.skus == [sku]
    assert not SubmissionMessage.objects.exists()
    assert not SubmissionKey.objects.exists()


# --- resubmitting


@pytest.mark.pattern("O2", "A3", "C9")
@pytest.mark.parametrize(
    ("outcome", "generation"), [("unknown", 1), ("refused", 2)], ids=["unknown", "refused"]
)
def test_resubmitting_keeps_the_key_of_an_unknown_outcome_and_takes_the_next_after_a_refusal(
    outcome: str, generation: int
) -> None:
    error = {"code": "no", "message": "no"}
    order = in_error(
        {**BAKED, "decorate": "completed", "box": {**TIMED_OUT, "outcome": outcome, "error": error}},
        failure_count=3,
        reply_to="app-1",
        announced=False,
    )
    result = resubmit(order_id=order.pk, by="operator:ada", reason="mended the ribbon")
    assert (result.status, result.said) == (ResultStatus.DONE, "Resubmitted box.")
    box, row = step_of(order, "box"), stored(order)
    assert (box.state, box.attempt, box.generation) == ("not_started", 3, generation)
    assert (box.failure_count, box.extended_waits, box.not_before) == (0, 0, None)
    assert (row.process_state, row.locked_by, row.complete_by) == ("pending", None, None)
    assert (row.failure_count, row.goal, row.announced) == (0, "complete", True)
    assert alert_closed(order) == ("operator:ada", "resubmitted")
    assert told(order) == ["failed"]  # no scheduler had told the application yet
    event = event_of(order, "resubmitted")
    assert (event.step, event.actor_name, event.detail) == (
        "box",
        "operator:ada",
        {"reason": "mended the ribbon"},
    )
    a_scheduler().run_once()
    request = AgentRequest.objects.get()  # it goes on from that step, and from no other
    assert (request.step, request.attempt, request.key) == ("box", 4, f"{order.pk}/box/{generation}")


@pytest.mark.pattern("O2")
def test_a_second_click_changes_nothing_and_says_so() -> None:
    order = in_error({"mix": "failed"})
    resubmit(order_id=order.pk, by="ada")
    before, events = everything(order), happened(order)
    result = resubmit(order_id=order.pk, by="ada")
    assert (result.status, result.said) == (
        ResultStatus.ALREADY,
        "The order is pending, so nothing was resubmitted.",
    )
    assert (everything(order), happened(order)) == (before, events)
    assert step_of(order, "mix").generation == 2
    a_scheduler().run_once()
    assert resubmit(order_id=order.pk, by="ada").status is ResultStatus.ALREADY
    assert set(AgentRequest.objects.values_list("step", "attempt")) == {("mix", 2), ("heat-oven", 1)}


@both_sessions
@pytest.mark.pattern("O2")
def test_of_two_clicks_at_once_one_resubmits() -> None:
    order = in_error({"mix": "failed"})
    results = all_at_once(4, lambda n: resubmit(order_id=order.pk, by=f"operator:{n}").status)
    assert sorted(act.value for act in results) == ["already", "already", "already", "done"]
    assert step_of(order, "mix").generation == 2
    assert happened(order) == [("resubmitted", "mix")]


@pytest.mark.pattern("O2")
@pytest.mark.parametrize("state", ["pending", "processing", "processed", "compensated"])
def test_an_order_that_is_not_in_error_is_not_resubmitted(state: str) -> None:
    goal = "compensate" if state == "compensated" else "complete"
    order = make_order({"mix": "completed"}, process_state=state, goal=goal)
    before = everything(order)
    assert resubmit(order_id=order.pk, by="ada").status is ResultStatus.ALREADY
    assert (everything(order), happened(order)) == (before, [])


@pytest.mark.pattern("O2")
def test_one_of_two_failed_steps_is_not_resubmitted_alone_since_the_order_could_not_go_on() -> None:
    order = in_error({**BAKED, "decorate": TIMED_OUT, "box": "failed"}, failure_count=3)
    before = everything(order)
    result = resubmit(order_id=order.pk, by="ada", step="box")
    assert (result.status, everything(order)) == (ResultStatus.REFUSED, before)
    assert "decorate" in result.said
    assert resubmit(order_id=order.pk, by="ada").said == "Resubmitted decorate, box."


@pytest.mark.pattern("O2")
def test_a_step_that_has_not_failed_is_refused_and_nothing_changes() -> None:
    order = in_error({"mix": "failed", "heat-oven": "completed"})
    before = everything(order)
    for step in ("heat-oven", "no-such"):
        result = resubmit(order_id=order.pk, by="ada", step=step)
        assert (result.status, result.said) == (ResultStatus.REFUSED, f"Step '{step}' has not failed.")
    assert (everything(order), happened(order)) == (before, [])
    assert alerts_of(order) == [("step_failed", "", "no")]


@both_sessions
@pytest.mark.pattern("O2")
def test_resubmitting_while_the_steps_own_reply_is_being_taken_does_not_run_it_again(
    new_session: NewSession,
) -> None:
    order = in_error({"mix": TIMED_OUT, "heat-oven": "completed"}, failure_count=3)
    make_reply(step_of(order, "mix"))
    scheduler, operator = new_session(), new_session()
    scheduler.begin()
    assert scheduler.do(a_scheduler().run_once).done["replies"] == 1
    clicked = operator.start(lambda: resubmit(order_id=order.pk, by="ada"))
    operator.await_wait()
    scheduler.commit()
    assert clicked.result(timeout=10).said == "Resubmitted the order."
    a_scheduler().run_once()
    assert states(order) == {"mix": "completed", "heat-oven": "completed", "bake": "running"}
    assert (asked(), step_of(order, "mix").attempt) == ({"bake"}, 3)


@both_sessions
@pytest.mark.pattern("O2")
def test_a_reply_that_comes_while_its_step_is_being_resubmitted_completes_it_without_another_call(
    new_session: NewSession,
) -> None:
    order = in_error({"mix": TIMED_OUT, "heat-oven": "completed"}, failure_count=3)
    make_reply(step_of(order, "mix"))
    operator = new_session()
    operator.begin()
    assert operator.do(lambda: resubmit(order_id=order.pk, by="ada")).status is ResultStatus.DONE
    assert a_scheduler().run_once().done["orders"] == 0  # the order is in the operator's hands
    operator.commit()
    a_scheduler().run_once()
    assert states(order) == {"mix": "completed", "heat-oven": "completed", "bake": "running"}
    assert asked() == {"bake"}


@pytest.mark.pattern("O2")
def test_an_order_that_overran_too_often_starts_counting_anew_when_resubmitted() -> None:
    order = in_error({"mix": "completed"}, kind="order_overran", overruns=3, failure_count=3)
    assert resubmit(order_id=order.pk, by="ada").said == "Resubmitted the order."
    row = stored(order)
    assert (row.process_state, row.overruns, row.failure_count) == ("pending", 0, 0)
    assert happened(order) == [("resubmitted", "")]
    a_scheduler().run_once()
    assert asked() == {"heat-oven"}


@pytest.mark.pattern("O1", "O2")
def test_each_error_has_one_open_alert_also_after_a_resubmission() -> None:
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    scheduler = a_scheduler()
    for _ in range(2):
        make_reply(step_of(order, "mix"), "refused")
        scheduler.run_once()
        assert Alert.objects.filter(closed_at=None).count() == 1
        resubmit(order_id=order.pk, by="ada")
        assert Alert.objects.filter(closed_at=None).count() == 0
        scheduler.run_once()
    assert alerts_of(order) == [("step_failed", "mix", "no")] * 2
    assert (step_of(order, "mix").generation, step_of(order, "mix").attempt) == (3, 3)


# --- having an order undone


@pytest.mark.pattern("C10", "O2")
@pytest.mark.parametrize("state", ["pending", "waiting", "processing", "processed", "error"])
def test_an_order_can_be_undone_from_every_state(state: str) -> None:
    fields: dict[str, Any] = {"process_state": state, "failure_count": 2, "started_at": ago(60)}
    steps: dict[str, Any] = {"mix": "completed", "heat-oven": "completed"}
    match state:
        case "waiting":
            fields |= {"process_state": "pending", "not_before": ahead(60)}
        case "error":
            steps["bake"] = "failed"
            fields |= {"announced": False}
        case "processed":
            steps = {step.name: "completed" for step in CAKE.steps}
            fields |= {"finished_at": ago(5)}
    order = make_order(steps, reply_to="app-1", **fields)
    if state == "error":
        make_alert(order.pk, kind="step_failed", step="bake", code="no", message="no")
    result = compensate(order_id=order.pk, by="operator:ada", reason="the customer asked")
    assert (result.status, result.said) == (ResultStatus.DONE, "The order will be cancelled and refunded.")
    row = stored(order)
    assert (row.goal, row.process_state, row.locked_by) == ("compensate", "pending", None)
    assert (row.not_before, row.complete_by, row.finished_at, row.announced) == (None, None, None, True)
    event = event_of(order, "undo_requested")
    assert (event.actor_name, event.detail) == (
        "operator:ada",
        {"why": "operator_requested", "reason": "the customer asked"},
    )
    if state == "error":
        assert alert_closed(order) == ("operator:ada", "cancelled and refunded")
    assert told(order) == (["failed"] if state == "error" else [])
    scheduler = a_scheduler()
    for _ in range(8):
        drain(scheduler)
        answer(order=order)
    assert stored(order).process_state == "compensated"
    assert states(order)["mix"] == "compensated"


@pytest.mark.pattern("C10")
def test_a_second_request_to_undo_changes_nothing_and_says_so() -> None:
    order = make_order({"mix": "completed"})
    compensate(order_id=order.pk, by="ada")
    a_scheduler().run_once()
    before = everything(order)
    result = compensate(order_id=order.pk, by="ada")
    assert result.status is ResultStatus.ALREADY
    assert result.said == "The order is already being cancelled and refunded."
    assert everything(order) == before
    assert happened(order, "undo_requested") == [("undo_requested", "")]


@both_sessions
@pytest.mark.pattern("C10")
def test_undoing_waits_for_the_scheduler_that_has_the_order_in_hand_and_then_undoes_what_it_did(
    new_session: NewSession,
) -> None:
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    make_reply(step_of(order, "mix"))
    scheduler, operator = new_session(), new_session()
    scheduler.begin()
    assert scheduler.do(a_scheduler().run_once).done["started"] == 1
    clicked = operator.start(lambda: compensate(order_id=order.pk, by="ada"))
    operator.await_wait()
    scheduler.commit()
    assert clicked.result(timeout=10).status is ResultStatus.DONE
    a_scheduler().run_once()
    # The request that it had just posted is taken back before anybody has begun it.
    assert (asked(), happened(order, "step_recalled")) == ({"mix"}, [("step_recalled", "bake")])
    assert states(order)["mix"] == "compensating"


@both_sessions
@pytest.mark.pattern("C10")
def test_a_request_that_an_agent_is_claiming_while_the_order_is_being_undone_counts_as_begun(
    new_session: NewSession,
) -> None:
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    request = make_request(step_of(order, "mix"))
    compensate(order_id=order.pk, by="ada")
    agent = new_session()
    agent.begin()
    agent.do(lambda: AgentRequest.objects.filter(pk=request.pk).update(deliveries=1, leased_by="agents:a"))
    a_scheduler().run_once()
    agent.commit()
    assert (states(order)["mix"], AgentRequest.objects.get().pk) == ("running", request.pk)


@pytest.mark.pattern("C10", "O2")
def test_an_undo_that_failed_goes_on_when_resubmitted() -> None:
    order = in_error(
        {"mix": {"state": "failed", "attempt": 8, "outcome": "done", "undo_failure_count": 6}},
        kind="compensation_failed",
        goal="compensate",
        failure_count=6,
    )
    assert resubmit(order_id=order.pk, by="ada").status is ResultStatus.DONE
    mix = step_of(order, "mix")
    assert (mix.state, mix.undo_failure_count, mix.not_before) == ("compensating", 0, None)
    assert (mix.generation, mix.undo_generation) == (1, 1)
    assert stored(order).failure_count == 0
    a_scheduler().run_once()
    request = AgentRequest.objects.get()
    assert (request.key, request.undo, request.attempt) == (f"{order.pk}/mix/1/undo", True, 9)


@pytest.mark.pattern("O2", "C10", "V4")
def test_after_its_escalation_an_order_can_be_undone_and_what_timed_out_is_undone_too() -> None:
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    expire(order, "mix")
    a_leader(threshold=1).run_once()
    assert compensate(order_id=order.pk, by="ada").status is ResultStatus.DONE
    scheduler = a_scheduler()
    scheduler.run_once()
    assert asked() == set()  # what it did may not have settled yet
    all_due(order)
    scheduler.run_once()
    assert asked() == {"mix"}


# --- set-aside submissions


@pytest.mark.pattern("S3", "O2")
def test_a_set_aside_submission_is_replayed_once_its_cause_is_mended(product: None) -> None:
    placed = place_order(client="guest", order=an_order())
    Product.objects.update(currency="HUF")
    assert take_in()["rejected"] == 1
    Product.objects.update(currency="EUR")
    aside = SetAside.objects.get()
    result = replay_set_aside(set_aside_id=aside.pk, by="operator:ada")
    assert (result.status, result.said) == (
        ResultStatus.DONE,
        f"Order {placed.order_id} is back on the submission queue.",
    )
    alert = Alert.objects.get()
    assert (alert.kind, alert.closed_by, alert.resolution) == ("set_aside", "operator:ada", "replayed")
    assert SetAside.objects.get().replayed_at is not None
    again = replay_set_aside(set_aside_id=aside.pk, by="operator:ada")
    assert (again.status, SubmissionMessage.objects.count()) == (ResultStatus.ALREADY, 1)
    assert take_in()["accepted"] == 1
    assert OrderProcess.objects.get().order_id == placed.order_id
    assert happened(placed.order_id) == [("set_aside", ""), ("replayed", ""), ("received", "")]


@pytest.mark.pattern("S3")
def test_a_replayed_submission_that_is_still_bad_is_set_aside_again_with_a_new_alert(product: None) -> None:
    placed = place_order(client="guest", order=an_order())
    Product.objects.update(currency="HUF")
    take_in()
    replay_set_aside(set_aside_id=SetAside.objects.get().pk, by="ada")
    assert take_in()["rejected"] == 1
    assert [one.replayed_at is None for one in SetAside.objects.order_by("pk")] == [False, True]
    assert len(alerts_of(placed.order_id)) == 2
    assert Alert.objects.filter(closed_at=None).count() == 1


def test_there_is_nothing_to_replay_under_an_unknown_number() -> None:
    assert replay_set_aside(set_aside_id=4711, by="ada").status is ResultStatus.ALREADY
    assert not Event.objects.exists()


@pytest.mark.parametrize("act", [resubmit, compensate])
def test_an_order_that_does_not_exist_is_said_so(act: Callable[..., Any]) -> None:
    missing: UUID = uuid7()
    with pytest.raises(NoSuchOrderError, match=str(missing)):
        act(order_id=missing, by="ada")
