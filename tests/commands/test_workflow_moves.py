"""`manage.py workflows move`: what it shows first, what it does, and with which exit code."""

from collections.abc import Iterator
from typing import Any

import pytest

from orders.models import AuditEntry, Event, OrderProcess
from tests.commands.running import run
from tests.support.businesses import business
from tests.support.versions import HANDS, TASTED, IcedCake, an_old_order

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O2")]
MOVE = ("workflows", "move", "ice-cake", "--from", 1, "--to", 2)


@pytest.fixture(autouse=True)
def bakery(settings: Any) -> Iterator[None]:
    """The release that has both versions, beside the shop."""
    with business(settings, kinds=[IcedCake], agents=HANDS):
        yield


def test_without_yes_it_shows_what_would_happen_and_changes_nothing() -> None:
    an_old_order()
    an_old_order(TASTED)
    running = an_old_order({"mix": "running"}, process_state="processing")
    cancelled = an_old_order(goal="compensate")
    ran = run(*MOVE)
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "2 orders can move from version 1 of ice-cake to version 2",
        "  steps kept: mix, bake",
        "  steps renamed: taste to approve, sign to stamp",
        "  steps dropped: candle",
        "  steps added: ice",
        "",
        "1 order cannot move now, but may later:",
        f"  1: step mix is under way, such as {running.pk}",
        "",
        "1 order cannot move, and will finish on version 1:",
        f"  1: it is being cancelled, such as {cancelled.pk}",
        "",
        "Nothing was changed. With --yes the orders move.",
    ]
    assert set(OrderProcess.objects.values_list("version", flat=True)) == {1}
    assert not AuditEntry.objects.exists()


def test_with_yes_the_orders_move_in_somebodys_name() -> None:
    order = an_old_order()
    ran = run(*MOVE, "--yes", "--by", "olga", "--reason", "iced now")
    assert (ran.code, ran.out.splitlines()[0]) == (0, "1 order moved from version 1 of ice-cake to version 2")
    assert "Nothing was changed" not in ran.out
    assert OrderProcess.objects.get().version == 2
    event = Event.objects.get(order_id=order.pk)
    assert (event.actor_name, event.detail["reason"]) == ("olga", "iced now")
    again = run(*MOVE, "--yes")
    assert (again.code, again.out.splitlines()[0]) == (
        3,
        "0 orders moved from version 1 of ice-cake to version 2",
    )


def test_with_yes_those_that_stay_are_reported() -> None:
    an_old_order()
    an_old_order({"mix": "running"}, process_state="processing")
    ran = run(*MOVE, "--yes")
    assert (ran.code, ran.line_with("cannot move")) == (1, "1 order cannot move now, but may later:")
    assert AuditEntry.objects.get().actor.startswith("operator:")


def test_scripts_get_the_same_as_json() -> None:
    order = an_old_order({"mix": "running"}, process_state="processing")
    ran = run(*MOVE, "--json")
    assert (ran.code, ran.json()) == (
        1,
        {
            "changes": {
                "same": ["mix", "bake"],
                "renamed": [["taste", "approve"], ["sign", "stamp"]],
                "dropped": ["candle"],
                "added": ["ice"],
            },
            "movable": 0,
            "hindrances": [
                {"reason": "step mix is under way", "passes": True, "example": str(order.pk), "number": 1}
            ],
            "is_preview": True,
        },
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("move", "ice-cake", "--from", 1),
            "move needs the NAME of a workflow, --from VERSION and --to VERSION",
        ),
        (
            ("move", "ice-cake", "--from", 2, "--to", 1),
            "ice-cake declares no move from version 2 to 1: add it to the moves of its kind",
        ),
        (("--yes",), "a NAME, --from, --to, --yes and --reason are only for move"),
        (("list", "ice-cake"), "a NAME, --from, --to, --yes and --reason are only for move"),
    ],
)
def test_wrong_use_is_refused_in_one_line(arguments: tuple[object, ...], message: str) -> None:
    ran = run("workflows", *arguments)
    assert (ran.code, ran.out, ran.err.strip()) == (2, "", message)


def test_the_list_says_how_orders_can_leave_an_old_version() -> None:
    an_old_order()
    assert (
        "ice-cake 1 1 0 orders are still on it; to move them: workflows move ice-cake --from 1 --to 2"
        in run("workflows").words
    )
    run(*MOVE, "--yes")
    assert "ice-cake 1 0 0 no order needs it: it may go" in run("workflows").words
