"""`manage.py orders`: the list tells the truth about each order."""

import re
from typing import Any
from uuid import UUID

import pytest
from django.core.management.base import CommandError

from orders.fields.order_numbers import spoken_number
from orders.management.commands import orders
from orders.models import Order, SetAside, SubmissionMessage
from orders.selectors.desk import order_search
from tests.commands.running import make_alert, queries, run, short
from tests.support.factories import ago, ahead, make_order, make_request, step_of

pytestmark = pytest.mark.django_db

HEATED = {"mix": "completed", "heat-oven": "completed"}
WAITING_BAKE = {"attempt": 2, "answered": 1, "outcome": "unknown", "failure_count": 1}


def named(order_id: UUID) -> str:
    """How a row begins."""
    return f"{short(order_id)} {spoken_number(order_id)}"


def line(order_id: UUID, *arguments: object) -> str:
    return run("orders", *arguments).line_with(short(order_id))


def test_an_empty_list_says_so() -> None:
    ran = run("orders")
    assert ran.code == 0
    assert "no orders yet" in ran.out and "0 orders" in ran.out


def test_a_running_order_shows_its_steps_and_who_has_it() -> None:
    order = make_order({"mix": "running", "heat-oven": "completed"}, process_state="processing")
    text = line(order.order_id)
    assert text.startswith(f"{named(order.order_id)} running ")
    assert text.endswith("mix 1 kitchen 0 test")


def test_parallel_steps_have_a_line_each() -> None:
    make_order({"mix": "running", "heat-oven": "running"}, process_state="processing")
    out = run("orders").out
    assert "mix" in out.splitlines()[1] and "heat-oven" in out.splitlines()[2]
    assert "oven" in out.splitlines()[2]


# The state that the commands show, and the fields of the step and of the order.
TRUTHS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "retrying (2 of 3, next in 5 min)",
        {**WAITING_BAKE, "not_before": 290},
        {"process_state": "pending", "not_before": 290},
    ),
    (
        "retrying (3 of 3, under way)",
        {"state": "running", "attempt": 3, "failure_count": 2},
        {"process_state": "processing"},
    ),
    ("retrying (attempt 4)", {"state": "running", "attempt": 4}, {"process_state": "processing"}),
    (
        "long wait before a retry, next in 5 min",
        {**WAITING_BAKE, "failure_count": 3, "extended_waits": 1, "not_before": 290},
        {"process_state": "pending", "not_before": 290},
    ),
    (
        "waiting for customer, 59 min",
        {"state": "failed", "not_before": 3_530},
        {"process_state": "pending", "not_before": 3_530},
    ),
    ("at risk, N s left", {"state": "running", "complete_by": 3.99}, {"process_state": "processing"}),
    ("overdue by 2 min", {"state": "running", "complete_by": -150}, {"process_state": "processing"}),
    ("at risk, N s left", {"state": "running"}, {"process_state": "processing", "complete_by": 3.99}),
    ("overdue by 2 min", {"state": "running"}, {"process_state": "processing", "complete_by": -150}),
    ("error: too_hot", {"state": "failed"}, {"process_state": "error"}),
    ("waiting for a scheduler", {**WAITING_BAKE, "not_before": -5}, {"process_state": "pending"}),
    (
        "being cancelled, retrying (2 of 6, next in 5 min)",
        {"state": "compensating", "compensation_failure_count": 1, "complete_by": None, "not_before": 290},
        {"process_state": "pending", "goal": "compensate", "not_before": 290},
    ),
    (
        "being cancelled",
        {"state": "compensating"},
        {"process_state": "processing", "goal": "compensate"},
    ),
    (
        "being cancelled, waiting for a call to settle, 5 min",
        {**WAITING_BAKE, "settles_at": 290},
        {"process_state": "pending", "goal": "compensate", "not_before": 290},
    ),
    (
        "cancellation failed: too_hot",
        {"state": "failed", "outcome": "done", "compensation_failure_count": 6},
        {"process_state": "error", "goal": "compensate"},
    ),
]


def at(fields: dict[str, Any]) -> dict[str, Any]:
    """Turns seconds from now into times."""
    times = ("not_before", "complete_by", "settles_at")
    return {
        name: ahead(value) if name in times and value is not None else value for name, value in fields.items()
    }


@pytest.mark.parametrize(("words", "bake", "process"), TRUTHS, ids=[truth[0] for truth in TRUTHS])
def test_the_state_line_describes_the_real_standing(
    words: str, bake: dict[str, Any], process: dict[str, Any]
) -> None:
    order = make_order({**HEATED, "bake": at(bake)}, **at(process))
    if order.process_state == "error":
        make_alert(order.order_id)
    (header,) = [row for row in run("order", order.order_id).out.splitlines() if row.startswith("state ")]
    text = re.sub(r" \((pending|processing|error)\)$", "", header.removeprefix("state").strip())
    assert re.sub(r"\d\.\d s", "N s", text) == words
    assert line(order.order_id).startswith(f"{named(order.order_id)} {words.split()[0]}")
    (shown,) = run("orders", "--json").json()["orders"]
    assert (shown["number"], shown["steps"][0]["name"]) == (spoken_number(order.order_id), "bake")


def test_a_request_that_no_agent_has_taken_waits_for_the_agent() -> None:
    order = make_order({**HEATED, "bake": "running"}, process_state="processing")
    request = make_request(step_of(order, "bake"))
    assert "waiting for oven" in line(order.order_id)
    request.leased_by, request.leased_until = "agents:test", ahead(5)
    request.save()
    assert " running " in line(order.order_id)
    request.leased_until = ago(1)
    request.save()
    assert "waiting for oven" in line(order.order_id), "a lapsed lease holds nothing"


def test_a_new_order_waits_for_a_scheduler() -> None:
    order = make_order(created_at=ago(190))
    assert f"{named(order.order_id)} waiting for a scheduler, 3 min 3 min – – – 0 –" == line(order.order_id)


def test_finished_orders_show_how_long_they_took() -> None:
    order = make_order(process_state="processed", created_at=ago(1_000), finished_at=ago(940))
    assert line(order.order_id) == f"{named(order.order_id)} processed took 1 min – – – 0 –"


def test_it_filters_by_state_and_counts_them_all() -> None:
    make_order(process_state="processed")
    failed = make_order({**HEATED, "bake": "failed"}, process_state="error")
    ran = run("orders", "--state", "error")
    assert short(failed.order_id) in ran.out
    assert ran.out.splitlines()[-1] == "1 order found; in all 2 orders: 1 processed, 1 error"
    assert run("orders", "state:error").out.splitlines()[-1] == ran.out.splitlines()[-1]
    assert "no matching orders" in run("orders", "--state", "compensated").out


@pytest.mark.parametrize("word", ["cancelled", "compensated"])
def test_a_state_is_asked_for_and_counted_in_the_words_of_the_pages(word: str) -> None:
    order = make_order(process_state="compensated", goal="compensate", finished_at=ago(1))
    make_order()
    make_order({"mix": "running"}, process_state="processing")
    ran = run("orders", "--state", word)
    assert short(order.order_id) in ran.out
    assert ran.out.splitlines()[-1] == "1 order found; in all 3 orders: 2 under way, 1 cancelled"


def test_an_unknown_state_is_answered_with_the_words_of_the_pages() -> None:
    with pytest.raises(CommandError, match="Choose from pending, processing, processed, error, cancelled"):
        run("orders", "--state", "canceled")


def test_waiting_shows_only_orders_that_nobody_is_working_on() -> None:
    make_order(process_state="processed")
    make_order({"mix": "running"}, process_state="processing")
    new = make_order()
    retried = make_order(process_state="processing", not_before=ahead(9))
    requested = make_order({"mix": "running"}, process_state="processing")
    make_request(step_of(requested, "mix"))
    order_ids = [order["order_id"] for order in run("orders", "--waiting", "--json").json()["orders"]]
    assert sorted(order_ids) == sorted(str(order.order_id) for order in (new, retried, requested))


def test_the_limit_keeps_the_newest_orders_and_says_how_many_are_missing() -> None:
    orders = [make_order() for _ in range(3)]
    ran = run("orders", "--limit", 1)
    assert short(orders[-1].order_id) in ran.out and short(orders[0].order_id) not in ran.out
    assert "shown: 1 of 3 that match" in ran.out


def test_a_query_that_is_answered_by_age_looks_further_than_a_page_and_counts_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Orders 1 and 8 of twelve match; a page looks at three."""
    monkeypatch.setattr(order_search, "MOST_FOUND", 0)
    monkeypatch.setattr(order_search, "MOST_LOOKED_AT", 3)
    twelve = [
        make_order(process_state="processed", created_at=ago(100 - n), finished_at=ago(9)) for n in range(12)
    ]
    for order in twelve:
        Order.objects.create(pk=order.pk, placed_at=order.created_at)
    Order.objects.filter(pk__in=(twelve[1].pk, twelve[8].pk)).update(total=777, currency="EUR")

    both, first = run("orders", "total:7.77"), run("orders", "total:7.77", "--limit", 1)
    assert short(twelve[1].pk) in both.out and short(twelve[8].pk) in both.out and "shown" not in both.out
    assert short(twelve[8].pk) in first.out and short(twelve[1].pk) not in first.out
    assert "shown: the newest 1 that match; how many do is not counted" in first.out

    monkeypatch.setattr(order_search, "MOST_LOOKED_AT", 1)
    monkeypatch.setattr(orders, "MOST_PAGES", 1)
    assert (
        "no matching orders among the newest; older ones were not searched" in run("orders", "total:7.77").out
    )


@pytest.mark.parametrize("command", ["orders", "alerts"])
def test_a_limit_below_one_is_refused(command: str) -> None:
    ran = run(command, "--limit", 0)
    assert (ran.code, ran.out) == (2, "")
    assert "--limit takes a number from 1 on" in ran.err


def test_submissions_that_are_not_yet_orders_are_counted() -> None:
    posted = {"order_id": UUID(int=1), "client": "guest", "body": {}}
    SubmissionMessage.objects.create(**posted)
    SetAside.objects.create(**posted, reason="no", posted_at=ago(5))
    assert "0 orders; 1 submission in the queue; 1 set aside" in run("orders").out


def test_lines_fit_a_hundred_columns() -> None:
    for _ in range(3):
        order = make_order(
            {**HEATED, "bake": {"state": "running", "attempt": 3, "failure_count": 2}},
            process_state="processing",
            locked_by="scheduler:a-host-with-a-rather-long-name:123456:abcd",
        )
        make_request(step_of(order, "bake"))
    make_order(
        {**HEATED, "bake": {"state": "compensating", "compensation_failure_count": 1}},
        process_state="processing",
        goal="compensate",
        complete_by=ahead(3),
    )
    assert max(map(len, run("orders").out.splitlines())) <= 100


def test_the_number_of_queries_does_not_grow_with_the_orders() -> None:
    make_order({"mix": "running"}, process_state="processing")
    few = queries("orders")
    for _ in range(8):
        make_alert(make_order({"mix": "failed"}, process_state="error").order_id)
    assert queries("orders") == few == 11
