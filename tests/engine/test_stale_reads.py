"""What a scheduler has read before it had the order's lock decides nothing."""

from collections.abc import Callable

import pytest

from orders.models import OrderProcess, StepState
from tests.support.factories import ago, make_order, make_reply, step_of
from tests.support.roles import a_scheduler, staff
from tests.support.two_sessions import PATIENCE, Session, held

NewSession = Callable[[], Session]


@pytest.mark.pattern("T6", "C3")
def test_steps_read_while_another_scheduler_held_the_order_are_read_again(new_session: NewSession) -> None:
    """Its lock was skipped, and the other one then left it waiting for an agent, which is what claims it now."""
    staff()
    since = ago(5)
    waiting = {"waiting_since": since, "wanted_since": since}
    make_order({"heat-oven": "completed", "mix": waiting}, process_state="pending")
    order = make_order({"heat-oven": "running", "mix": "running"}, process_state="processing")
    make_reply(step_of(order, "heat-oven"))
    other, scheduler = new_session(), new_session()
    other.begin()
    other.do(lambda: OrderProcess.objects.filter(pk=order.pk).update(process_state="pending", locked_by=None))
    other.do(
        lambda: StepState.objects.filter(process=order, name="mix").update(
            state="not_started", complete_by=None, answered=1, failure_count=0, **waiting
        )
    )
    with held(scheduler, a_scheduler().run_once, at="AS steps (failed, most)") as done:
        other.commit()
    assert done.result(timeout=PATIENCE).done["started"] >= 1
    mix = step_of(order, "mix")
    assert (mix.state, mix.attempt, mix.waiting_since) == ("running", 2, None)
