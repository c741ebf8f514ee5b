"""`resubmit`, `compensate` and `set_aside`: their output and their exit codes say what really happened."""

import getpass
from uuid import UUID

import pytest
from django.core.management import CommandError

from orders.engine.scheduler.config import SchedulerConfig
from orders.engine.scheduler.role import Scheduler
from orders.models import AgentRequest, Alert, Event, OrderProcess, SetAside, StepState, SubmissionMessage
from tests.commands.running import make_alert, run
from tests.support.factories import ago, make_order, step_of
from tests.support.roles import staff
from tests.support.workflows import CAKES

pytestmark = pytest.mark.django_db

BURNT = {"mix": "completed", "heat-oven": "completed", "bake": "failed"}
ME = f"operator:{getpass.getuser()}"


def failed_order(**alert: object) -> OrderProcess:
    order = make_order(BURNT, process_state="error")
    make_alert(order.order_id, **alert)
    return order


def state_of(order: OrderProcess) -> str:
    return OrderProcess.objects.get(pk=order.pk).process_state


def one_pass() -> None:
    staff()
    Scheduler(config=SchedulerConfig(instance="scheduler:test"), workflows=CAKES).run_once()


def set_aside(number: int = 1) -> SetAside:
    return SetAside.objects.create(
        order_id=UUID(int=number), client="guest", body={}, reason="no such cake", posted_at=ago(9)
    )


@pytest.mark.pattern("O2")
def test_resubmit_continues_from_the_failed_step() -> None:
    order = failed_order()
    ran = run("resubmit", order.order_id.hex[-8:], "--reason", "fixed the oven")
    assert (ran.code, ran.out) == (0, f"{order.order_id}: Resubmitted bake.\n")
    one_pass()
    (request,) = AgentRequest.objects.values_list("step", "attempt", "key")
    assert request == ("bake", 2, f"{order.order_id}/bake/2")
    assert step_of(order, "mix").attempt == 1, "what was completed is not done again"
    event = Event.objects.get(kind="resubmitted")
    assert (event.actor_name, event.detail) == (ME, {"reason": "fixed the oven"})
    alert = Alert.objects.get()
    assert (alert.closed_by, alert.resolution) == (ME, "resubmitted")


@pytest.mark.pattern("O2")
def test_a_second_resubmit_changes_nothing_and_says_so() -> None:
    order = failed_order()
    assert run("resubmit", order.order_id, "--by", "eve").code == 0
    ran = run("resubmit", order.order_id, "--by", "adam")
    assert (ran.code, ran.out) == (
        3,
        f"{order.order_id}: The order is pending, so nothing was resubmitted.\n",
    )
    assert Alert.objects.get().closed_by == "eve"
    assert Event.objects.filter(kind="resubmitted").count() == 1


def test_resubmit_of_a_step_that_has_not_failed_is_refused() -> None:
    order = failed_order()
    ran = run("resubmit", order.order_id, "--step", "mix")
    assert (ran.code, ran.out, ran.err) == (1, "", f"{order.order_id}: Step 'mix' has not failed.\n")
    assert state_of(order) == "error"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--all",),
        ("--code", "x"),
        ("--all", "--code", "x", "--step", "bake"),
        ("--all", "--code", "x", "abcd"),
        ("abcd", "--code", "x"),
        ("abcd", "--agent", "oven"),
        ("abcd", "--kind", "step_failed"),
        ("--all", "--agent", "oven"),
        ("abcd", "--wait"),
    ],
)
def test_resubmit_used_wrongly_says_how(arguments: tuple[str, ...]) -> None:
    ran = run("resubmit", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1


def test_an_order_whose_submission_waits_cannot_be_resubmitted_yet() -> None:
    SubmissionMessage.objects.create(order_id=UUID(int=7), client="guest", body={})
    ran = run("resubmit", UUID(int=7))
    assert (ran.code, ran.err) == (2, f"{UUID(int=7)}: its submission is still in the queue\n")


@pytest.mark.parametrize("name", ["", " ", "x" * 121, "a\nb"])
def test_a_name_that_the_history_cannot_store_is_refused(name: str) -> None:
    order = failed_order()
    with pytest.raises(CommandError, match="a name has 1 to 120 printable characters"):
        run("resubmit", order.order_id, f"--by={name}")
    assert state_of(order) == "error"


@pytest.mark.pattern("C10")
def test_compensate_compensates_the_order_once() -> None:
    order = make_order({"mix": "completed"}, process_state="processed")
    ran = run("compensate", order.order_id, "--reason", "wrong cake")
    assert (ran.code, ran.out) == (0, f"{order.order_id}: The order will be cancelled.\n")
    one_pass()
    assert StepState.objects.get(name="mix").state == "compensating"
    event = Event.objects.get(kind="compensation_requested")
    assert (event.actor_name, event.detail) == (ME, {"why": "operator_requested", "reason": "wrong cake"})
    ran = run("compensate", order.order_id, "--reason", "wrong cake")
    assert (ran.code, ran.out) == (3, f"{order.order_id}: The order is already being cancelled.\n")


def test_compensate_needs_a_reason() -> None:
    order = make_order()
    with pytest.raises(CommandError, match="--reason"):
        run("compensate", order.order_id)
    assert OrderProcess.objects.get().goal == "complete"


def test_set_aside_lists_submissions_with_their_reasons() -> None:
    assert run("set_aside").out == "no submission is set aside\n"
    submission = set_aside()
    SetAside.objects.create(
        order_id=UUID(int=2), client="x", body={}, reason="superseded", posted_at=ago(9), replayed_at=ago(1)
    )
    ran = run("set_aside", "list")
    assert ran.line_with("no such cake").startswith(f"{submission.pk} 00000001 guest ")
    assert "1 submission set aside" in ran.out and "superseded" not in ran.out
    (shown,) = run("set_aside", "--json").json()["set_aside"]
    assert (shown["number"], shown["order_id"], shown["body"]) == (
        submission.pk,
        str(submission.order_id),
        {},
    )


def test_set_aside_replay_puts_a_submission_back_on_the_queue_once() -> None:
    submission = set_aside()
    make_alert(submission.order_id, kind="set_aside", step="", agent="")
    ran = run("set_aside", "replay", submission.pk)
    assert (ran.code, ran.out) == (0, f"Order {submission.order_id} is back on the submission queue.\n")
    assert SubmissionMessage.objects.get().order_id == submission.order_id
    assert Alert.objects.get().closed_by == ME
    ran = run("set_aside", "replay", submission.pk)
    assert (ran.code, ran.out) == (3, f"No submission is set aside under number {submission.pk}.\n")
    assert SubmissionMessage.objects.count() == 1


def test_set_aside_replay_all_asks_and_replays_them_all() -> None:
    for number in (1, 2):
        set_aside(number)
    assert run("set_aside", "replay", "--all", answer="n").code == 3
    assert SubmissionMessage.objects.count() == 0
    ran = run("set_aside", "replay", "--all", answer="y")
    assert ran.code == 0 and ran.out.endswith("2 submissions replayed\n")
    assert SubmissionMessage.objects.count() == 2
    assert run("set_aside", "replay", "--all").code == 3


@pytest.mark.parametrize(
    "arguments", [("replay",), ("replay", "1", "--all"), ("list", "1"), ("list", "--all")]
)
def test_set_aside_used_wrongly_says_how(arguments: tuple[str, ...]) -> None:
    ran = run("set_aside", *arguments)
    assert (ran.code, ran.out) == (2, "")
