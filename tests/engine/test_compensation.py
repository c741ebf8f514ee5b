"""Compensation of a whole order from every point that it can reach (C10): in reverse and to the end (I10)."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from orders.engine.contracts import Compensation
from orders.models import AgentRequest, OrderProcess
from tests.support.compensations import an_order_to_compensate, compensate_all, unknown
from tests.support.factories import ago, ahead, make_reply, make_request, step_of
from tests.support.roles import (
    a_leader,
    a_scheduler,
    alerts_of,
    all_due,
    answer,
    event_of,
    everything,
    expire,
    history,
    requested_steps,
    states,
    status_kinds,
    stored,
)
from tests.support.workflows import BAKED, CAKE, PACKED

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("C10")]


def points() -> Iterator[Any]:
    """Every point that an order of the workflow can reach.

    Every step before a completed step is completed. Each step that is ready is either not started, or its outcome is
    unknown.
    """
    names = [step.name for step in CAKE.steps]
    for flags in product([False, True], repeat=len(names)):
        done = {name for name, is_done in zip(names, flags, strict=True) if is_done}
        if not all(set(CAKE.by_name[name].after) <= done for name in done):
            continue
        open_now = [s.name for s in CAKE.steps if s.name not in done and set(s.after) <= done]
        for sent_flags in product([False, True], repeat=len(open_now)):
            lost = {name for name, was_sent in zip(open_now, sent_flags, strict=True) if was_sent}
            label = "+".join(sorted(done)) or "nothing"
            yield pytest.param(done, lost, id=label + "".join(f"-{name}?" for name in sorted(lost)))


@pytest.mark.parametrize(("done", "lost"), list(points()))
def test_from_every_point_known_and_possible_effects_are_compensated_in_reverse_and_the_notice_comes_last(
    done: set[str], lost: set[str]
) -> None:
    order = an_order_to_compensate(
        dict.fromkeys(done, "completed") | {name: unknown() for name in lost},
    )
    waves = compensate_all(order)
    to_compensate = {name for name in done | lost if CAKE.by_name[name].compensation is Compensation.REVERSE}
    assert set().union(*waves) == to_compensate | {"tell"}
    assert sum(len(wave) for wave in waves) == len(to_compensate) + 1  # nothing twice
    assert waves[-1] == {"tell"}
    events = history(order, "compensation_started", "step_compensated")
    for name in to_compensate:
        began = events.index(("compensation_started", name))
        for later in to_compensate & set(CAKE.dependents[name]):
            assert events.index(("step_compensated", later)) < began
    assert events[-2:] == [("compensation_started", "tell"), ("step_compensated", "tell")]
    row = stored(order)
    assert (row.process_state, row.locked_by, row.not_before) == ("compensated", None, None)
    assert row.finished_at is not None
    assert {name for name, state in states(order).items() if state == "compensated"} == to_compensate | {
        "tell"
    }
    assert status_kinds(order) == ["compensated"]
    assert (alerts_of(order), requested_steps()) == ([], set())


@pytest.mark.pattern("A3", "T5", "C5")
def test_the_request_of_a_compensation_names_its_own_key_the_forward_key_and_the_steps_own_answer() -> None:
    order = an_order_to_compensate(
        {
            **PACKED,
            "box": {"state": "completed", "result": {"ribbon": "red"}},
            "bake": {"state": "completed", "result": {"crust": "golden"}},
            "deliver": {"state": "completed", "result": {"parcel": 7}, "generation": 2, "attempt": 3},
        }
    )
    since = ahead(30)
    a_scheduler().run_once()
    request, deliver = AgentRequest.objects.get(), step_of(order, "deliver")
    assert (request.step, request.agent, request.operation) == ("deliver", "courier", "deliver-it")
    assert (request.compensates, request.attempt) == (True, 4)
    assert request.key == f"{order.pk}/deliver/2/undo"
    assert request.reverses == f"{order.pk}/deliver/2"
    assert request.body == {
        "data": {"portions": 1},
        "results": {"bake": {"crust": "golden"}, "box": {"ribbon": "red"}, "deliver": {"parcel": 7}},
    }
    assert (deliver.state, deliver.attempt, deliver.outcome) == ("compensating", 4, "done")
    assert deliver.complete_by is not None and deliver.complete_by >= since
    assert request.complete_by == deliver.complete_by
    assert stored(order).process_state == "processing"


# --- what is under way when the goal turns


def test_an_unknown_outcome_is_compensated_only_after_it_has_settled() -> None:
    settles_at = ahead(5)
    order = an_order_to_compensate({"mix": unknown(settles_at=settles_at)})
    scheduler = a_scheduler()
    scheduler.run_once()
    row = stored(order)
    assert (row.process_state, row.not_before, requested_steps()) == ("pending", settles_at, set())
    assert scheduler.run_once().done["orders"] == 0
    all_due(order)
    scheduler.run_once()
    assert requested_steps() == {"mix"}


def test_a_running_step_is_awaited_before_the_steps_it_depends_on_are_compensated() -> None:
    order = an_order_to_compensate({**BAKED, "decorate": "completed", "box": "running"})
    make_request(step_of(order, "box"), deliveries=1, leased_by="agents:a", leased_until=ahead(8))
    scheduler = a_scheduler()
    scheduler.run_once()
    # `decorate` does not depend on `box`, so it is compensated at once. `bake` and `mix` come before `box`, and wait.
    assert states(order) == {**BAKED, "decorate": "compensating", "box": "running"}
    assert (stored(order).process_state, stored(order).locked_by) == ("processing", "scheduler:a")
    answer(order=order)
    scheduler.run_once()
    assert states(order)["box"] == "compensating"
    assert step_of(order, "box").outcome == "done"
    assert states(order)["bake"] == "completed"
    assert compensate_all(order)[-1] == {"tell"}
    assert stored(order).process_state == "compensated"


def test_a_running_step_is_awaited_even_if_it_has_nothing_to_compensate() -> None:
    order = an_order_to_compensate({"heat-oven": "running"}, process_state="processing")
    make_request(step_of(order, "heat-oven"), deliveries=1, leased_by="agents:a", leased_until=ahead(8))
    compensate_now(order)
    scheduler = a_scheduler()
    scheduler.run_once()
    assert (stored(order).process_state, requested_steps()) == ("processing", {"heat-oven"})
    answer(order=order)
    assert compensate_all(order) == [{"tell"}]
    assert (stored(order).process_state, states(order)["heat-oven"]) == ("compensated", "completed")


def test_a_running_step_that_is_never_answered_is_given_up_by_the_supervisor_and_compensated_once_settled() -> (
    None
):
    order = an_order_to_compensate(
        {"mix": "running", "heat-oven": "completed"}, process_state="processing", failure_count=0
    )
    expire(order, "mix")
    a_leader(threshold=1).run_once()
    mix, row = step_of(order, "mix"), stored(order)
    assert (mix.state, mix.outcome, mix.failure_count, mix.complete_by) == ("not_started", "unknown", 0, None)
    assert (row.process_state, row.locked_by, row.failure_count) == ("pending", None, 0)
    assert event_of(order, "step_timed_out").detail["ruling"] == "settle"
    scheduler = a_scheduler()
    scheduler.run_once()
    assert (requested_steps(), stored(order).not_before) == (set(), mix.settles_at)
    all_due(order)
    assert compensate_all(order) == [{"mix"}, {"tell"}]
    assert alerts_of(order) == []


def test_a_request_that_no_agent_has_begun_is_taken_back_and_needs_no_compensation() -> None:
    order = an_order_to_compensate({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    make_request(step_of(order, "mix"))
    compensate_now(order)
    assert a_scheduler().run_once().done["recalled"] == 1
    mix = step_of(order, "mix")
    assert (mix.state, mix.outcome, mix.complete_by, mix.answered) == ("not_started", "none", None, 1)
    assert history(order, "step_recalled") == [("step_recalled", "mix")]
    assert compensate_all(order) == [{"tell"}]


def compensate_now(order: OrderProcess) -> None:
    """Does what the service does to a Processing order, for an order whose goal has already turned."""
    OrderProcess.objects.filter(pk=order.pk).update(
        process_state="pending", locked_by=None, complete_by=None, not_before=None
    )


def test_a_first_attempt_may_have_taken_effect_even_if_the_second_is_taken_back() -> None:
    settles_at = ahead(35)
    order = an_order_to_compensate({"mix": {"state": "running", "attempt": 2, "settles_at": settles_at}})
    make_request(step_of(order, "mix"))
    scheduler = a_scheduler()
    scheduler.run_once()
    assert (step_of(order, "mix").outcome, requested_steps()) == ("unknown", set())
    assert stored(order).not_before == settles_at
    all_due(order)
    assert compensate_all(order) == [{"mix"}, {"tell"}]


@pytest.mark.parametrize("deliveries", [1, 2])
def test_a_request_that_an_agent_has_received_is_not_taken_back_even_if_it_is_free_again(
    deliveries: int,
) -> None:
    order = an_order_to_compensate({"mix": "running"})
    make_request(step_of(order, "mix"), deliveries=deliveries)
    assert a_scheduler().run_once().done["recalled"] == 0
    assert (states(order), requested_steps()) == ({"mix": "running"}, {"mix"})


@pytest.mark.parametrize(
    ("outcome", "compensated"), [("done", True), ("refused", False), ("declined", False), ("failed", True)]
)
def test_the_reply_of_an_awaited_step_says_whether_it_has_to_be_compensated(
    outcome: str, compensated: bool
) -> None:
    order = an_order_to_compensate(
        {"mix": {"state": "running", "settles_at": ago(1)}, "heat-oven": "completed"},
        process_state="processing",
    )
    make_reply(step_of(order, "mix"), outcome)
    assert compensate_all(order) == ([{"mix"}, {"tell"}] if compensated else [{"tell"}])
    assert stored(order).process_state == "compensated"
    assert alerts_of(order) == []


@pytest.mark.pattern("C9")
def test_a_late_forward_reply_changes_nothing_once_the_compensation_was_sent() -> None:
    order = an_order_to_compensate({"mix": unknown()})
    scheduler = a_scheduler()
    scheduler.run_once()
    make_reply(step_of(order, "mix"), attempt=1, compensates=False)
    before = everything(order)[1]
    scheduler.run_once()
    assert everything(order)[1] == before
    assert history(order, "reply_ignored") == [("reply_ignored", "mix")]
    assert compensate_all(order) == [{"mix"}, {"tell"}]
