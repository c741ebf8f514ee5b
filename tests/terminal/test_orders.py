"""Orders from the terminal, at a real server: placed once, shown, followed and cancelled."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from orders.fields.order_numbers import spoken_number
from orders.models import SubmissionMessage
from tests.support.order_bodies import order_body
from tests.terminal.command import Ran, Terminal
from tests.web.following import happen
from tests.web.helpers import change_state, run_submission


@pytest.fixture
def body(tmp_path: Path) -> Path:
    """A file with an order."""
    file = tmp_path / "order.json"
    file.write_text(json.dumps(order_body()))
    return file


def place(terminal: Terminal, body: Path, *arguments: Any) -> Ran:
    return terminal.run("orders", "place", "--file", body, "--line", "tidal-lines=3", *arguments)


def placed(terminal: Terminal, body: Path) -> UUID:
    """Places an order, and inserts it."""
    order_id, _, _ = place(terminal, body).out.split()
    run_submission()
    return UUID(order_id)


@pytest.mark.pattern("S1", "S3")
def test_an_order_is_placed_once_however_often_its_key_is_used(terminal: Terminal, body: Path) -> None:
    first = place(terminal, body, "--set", "reference=invoice 7")
    assert first.status == 0, first.err
    key = first.err.strip().removeprefix("Idempotency-Key: ")
    again = place(terminal, body, "--set", "reference=invoice 7", f"--key={key}", "--json")
    order = json.loads(again.out)
    assert first.out == f"{order['id']}  {order['number']}  pending\n"
    assert (order["reference"], order["lines"][0]["quantity"]) == ("invoice 7", 3)
    assert "An earlier request with this key has placed this order." in again.err
    assert SubmissionMessage.objects.get().order_id == UUID(order["id"])
    other = place(terminal, body, f"--key={key}")
    assert other.status == 1 and "Leave out --key for another order." in other.err
    assert SubmissionMessage.objects.count() == 1


def test_an_order_comes_from_standard_input_too(terminal: Terminal) -> None:
    ran = terminal.run(
        "orders",
        "place",
        "--file",
        "-",
        stdin=json.dumps(order_body(lines=[{"sku": "tidal-lines", "quantity": 1}])),
    )
    assert ran.status == 0, ran.err


def test_what_the_server_refuses_is_shown_with_its_places(terminal: Terminal, body: Path) -> None:
    ran = place(terminal, body, "--line", "tidal-lines=0", "--set", "ship_to.country=Atlantis")
    assert (ran.status, ran.out) == (1, "")
    assert "The request is not valid (400 validation_failed)" in ran.err
    assert "  /lines/1/quantity: " in ran.err and "  /ship_to/country: " in ran.err
    assert "  Request " in ran.err
    assert not SubmissionMessage.objects.exists()


def test_an_order_is_shown_and_cancelled(terminal: Terminal, body: Path) -> None:
    order_id = placed(terminal, body)
    shown = terminal.run("orders", "show", order_id)
    assert shown.status == 0, shown.err
    assert f"order      {order_id}" in shown.lines
    assert f"number     {spoken_number(order_id)}" in shown.lines
    assert "total      11700 EUR in the smallest unit" in shown.lines
    assert "reserve-stock not_started" in shown.out
    cancelled = terminal.run("orders", "cancel", order_id)
    assert cancelled.status == 0 and "being cancelled" in cancelled.out
    assert cancelled.out.startswith(f"{order_id}  {spoken_number(order_id)}  ")
    assert json.loads(terminal.run("orders", "show", order_id, "--json").out)["goal"] == "compensate"
    refused = terminal.run("orders", "pay", order_id)
    assert refused.status == 1 and "409 being_cancelled" in refused.err


def test_an_order_is_named_by_its_number_too(terminal: Terminal, body: Path) -> None:
    """In the form in which it was printed, or without the hyphen and in small letters, from the first moment on."""
    order_id, number, _ = place(terminal, body).out.split()
    assert f"order      {order_id}" in terminal.run("orders", "show", number).lines
    run_submission()
    for written in (number, number.replace("-", "").lower()):
        assert f"order      {order_id}" in terminal.run("orders", "show", written).lines
    refused = terminal.run("orders", "pay", number)
    assert refused.status == 1 and "409 not_waiting_for_customer" in refused.err
    cancelled = terminal.run("orders", "cancel", number)
    assert cancelled.status == 0 and cancelled.out.startswith(f"{order_id}  {number}  ")
    change_state(UUID(order_id), "compensated")
    followed = terminal.run("orders", "follow", number)
    assert followed.status == 1 and followed.out.startswith(f"{order_id}  {number}  compensated")


def test_a_number_that_no_order_of_hers_has_is_refused(terminal: Terminal) -> None:
    other = spoken_number(UUID("019b0000-0000-7000-8000-000000000001"))
    ran = terminal.run("orders", "show", other)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == f"No order of this token's account has the number {other}.\n"
    mistaken = terminal.run("orders", "show", f"{other[1]}{other[0]}{other[2:]}")
    assert mistaken.status == 1 and "check character does not fit" in mistaken.err


def test_somebody_elses_order_is_not_found(terminal: Terminal) -> None:
    ran = terminal.run("orders", "show", "019b0000-0000-7000-8000-000000000001")
    assert ran.status == 1 and "Not found (404 not_found)" in ran.err


@pytest.mark.parametrize(("end", "status"), [("processed", 0), ("compensated", 1)])
def test_an_order_is_followed_until_it_is_finished(
    terminal: Terminal, body: Path, end: str, status: int
) -> None:
    order_id = placed(terminal, body)
    if end == "compensated":
        assert terminal.run("orders", "cancel", order_id).status == 0
    following = terminal.start("orders", "follow", order_id, "--json")
    following.until_says('"state":"pending"')
    happen(order_id)
    change_state(order_id, end)
    happen(order_id)
    ran = following.end()
    assert ran.status == status, ran.err
    assert json.loads(ran.lines[-1])["state"] == end


def test_ctrl_c_ends_it_cleanly(terminal: Terminal, body: Path) -> None:
    order_id = placed(terminal, body)
    following = terminal.start("orders", "follow", order_id)
    following.until_says("pending")
    ran = following.interrupt()
    assert (ran.status, ran.err) == (130, "")
    feed = terminal.start("changes", "--follow")
    feed.until_says("received")
    ran = feed.interrupt()
    assert ran.status == 130
    (line,) = ran.err.splitlines()
    assert line.startswith("Go on with: bin/sasweb changes --follow --after=")
