"""`resubmit --all` starts a bulk action, as the console and the API do, and can wait for the results."""

import getpass
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from orders.management.commands import resubmit
from orders.models import AuditEntry, BulkAction, OrderProcess
from orders.services.operators import bulk as bulk_services
from orders.services.operators import bulk_control
from tests.commands.running import make_alert, run
from tests.support.desk import OLGA, carry_on, fail, items_in, succeed
from tests.support.factories import make_order

pytestmark = pytest.mark.django_db

BURNT = {"mix": "completed", "heat-oven": "completed", "bake": "failed"}
ALL = ("--all", "--code", "too_hot")


def failed_order(**alert: object) -> UUID:
    order = make_order(BURNT, process_state="error")
    make_alert(order.order_id, **alert)
    return order.order_id


def orders_of(action: BulkAction) -> list[UUID]:
    return list(action.items.order_by("position").values_list("order_id", flat=True))


def state_of(order_id: UUID) -> str:
    return OrderProcess.objects.get(pk=order_id).process_state


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Performs one of these acts each time the command sleeps between two polls, and fails when none remains."""

    def script(*acts: Callable[[], Any]) -> None:
        remaining = iter(acts)

        def sleep(_: float) -> None:
            act = next(remaining, None)
            assert act is not None, "the command still waits"
            act()

        monkeypatch.setattr(resubmit.time, "sleep", sleep)

    return script


def the_action() -> BulkAction:
    return BulkAction.objects.get()


@pytest.mark.pattern("O2")
def test_it_starts_a_bulk_action_for_every_open_alert_of_that_code_and_no_other() -> None:
    orders = [failed_order() for _ in range(3)]
    failed_order(code="power_cut")
    ran = run("resubmit", *ALL, "--reason", "the oven is fixed", "--yes")
    action = the_action()
    assert ran.code == 0
    assert f"Bulk action {action.pk} resubmits 3 orders, in waves of 1, 2." in ran.out
    assert f"/console/bulk/{action.pk}/" in ran.out
    assert (action.kind, action.selection, action.reason) == (
        "resubmit",
        "open alerts with code too_hot",
        "the oven is fixed",
    )
    assert orders_of(action) == orders
    assert {state_of(order) for order in orders} == {"error"}, "it can still be undone"
    carry_on(action)
    assert [state_of(order) for order in orders] == ["pending", "error", "error"]
    entry = AuditEntry.objects.get()
    assert (entry.act, entry.target) == ("bulk resubmit", f"bulk {action.pk}")
    assert getpass.getuser() in entry.actor


@pytest.mark.pattern("O2")
@pytest.mark.parametrize(
    "narrowed", [("--agent", "oven"), ("--kind", "step_failed"), ("--agent", "oven", "--kind", "step_failed")]
)
def test_it_resubmits_only_the_group_that_it_is_narrowed_to(narrowed: tuple[str, ...]) -> None:
    order_id = failed_order()
    failed_order(agent="courier", kind="compensation_failed")
    assert run("resubmit", *ALL, *narrowed, "--yes").code == 0
    assert orders_of(the_action()) == [order_id]
    ran = run("resubmit", *ALL, "--agent", "kitchen", "--yes")
    assert (ran.code, ran.out) == (3, "no order has an open alert with code too_hot, agent kitchen\n")


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("yes", 0), ("n", 3), ("", 3), (None, 2)])
def test_it_asks_for_confirmation_with_the_count(answer: str | None, code: int) -> None:
    for _ in range(2):
        failed_order()
    ran = run("resubmit", *ALL, answer=answer)
    assert ran.code == code
    assert ran.out.startswith("Resubmit 2 orders? [y/N] ")
    assert BulkAction.objects.count() == (1 if code == 0 else 0)


@pytest.mark.parametrize(("answer", "code"), [("2", 0), (" 2 ", 0), ("y", 3), ("3", 3), ("", 3), (None, 2)])
def test_many_orders_are_confirmed_by_typing_their_number(
    answer: str | None, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_services, "COUNT_FROM", 1)
    for _ in range(2):
        failed_order()
    ran = run("resubmit", *ALL, answer=answer)
    assert ran.code == code
    assert ran.out.startswith("Resubmit 2 orders? Type 2 to confirm: ")
    assert BulkAction.objects.count() == (1 if code == 0 else 0)


def test_without_such_an_alert_there_is_nothing_to_do() -> None:
    ran = run("resubmit", "--all", "--code", "too_cold", "--yes")
    assert (ran.code, ran.out) == (3, "no order has an open alert with code too_cold\n")


def test_more_orders_than_one_action_takes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_services, "MOST", 2)
    for _ in range(3):
        failed_order()
    ran = run("resubmit", *ALL, "--yes")
    assert ran.code == 1
    assert "at most 2 orders" in ran.err
    assert not BulkAction.objects.exists()


@pytest.mark.pattern("O2")
def test_it_waits_for_the_results_and_prints_each_change(meanwhile: Callable[..., None]) -> None:
    first, second = failed_order(), failed_order()

    def both_waves() -> None:
        carry_on(the_action())
        succeed(second)
        carry_on(the_action())
        carry_on(the_action())

    meanwhile(lambda: carry_on(the_action()), lambda: None, lambda: succeed(first), both_waves)
    ran = run("resubmit", *ALL, "--yes", "--wait")
    assert ran.code == 0
    assert ran.out.splitlines()[2:] == [
        "Wave 1 of 2: 0 done, 0 failed again, 0 with nothing to do, 0 under way, 2 waiting",
        "Wave 1 of 2: 0 done, 0 failed again, 0 with nothing to do, 1 under way, 1 waiting",
        "Wave 2 of 2: 2 done, 0 failed again, 0 with nothing to do, 0 under way, 0 waiting",
    ]


@pytest.mark.pattern("O2")
def test_when_the_canary_fails_again_it_says_so_and_touches_no_other_order(
    meanwhile: Callable[..., None],
) -> None:
    canary, other = failed_order(), failed_order()

    def fail_again() -> None:
        fail(canary, code="too_hot", message="it burnt again")
        carry_on(the_action())

    meanwhile(lambda: carry_on(the_action()), fail_again)
    ran = run("resubmit", *ALL, "--yes", "--wait")
    assert ran.code == 1
    assert "The bulk action is paused." in ran.err
    assert "it burnt again" in ran.err
    assert items_in(the_action(), "waiting") == [other]


def test_an_action_that_is_undone_meanwhile_changes_nothing(meanwhile: Callable[..., None]) -> None:
    failed_order()
    meanwhile(lambda: bulk_control.undo(action_id=the_action().pk, actor=OLGA))
    ran = run("resubmit", *ALL, "--yes", "--wait")
    assert (ran.code, ran.err) == (3, "The bulk action was undone.\n")


def test_an_order_that_was_never_inserted_is_left_alone(meanwhile: Callable[..., None]) -> None:
    make_alert(uuid7(), kind="set_aside", step="", agent="")

    def to_the_end() -> None:
        carry_on(the_action())
        carry_on(the_action())

    meanwhile(to_the_end)
    ran = run("resubmit", *ALL, "--yes", "--wait")
    assert ran.code == 3
    assert "1 with nothing to do" in ran.out
