"""What the command makes of each answer: it is repeated, shown or explained, and the exit status says which."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.terminal.command import Ran, Terminal
from tests.terminal.stand_in import LOST, ORDER, CannedAnswer, StandIn, problem, stand_in

PLACE = ("orders", "place", "--line", "tidal-lines=2", "--set", "ship_to.city=Delft")
ACCEPTED = CannedAnswer(status=202, body=ORDER)
BUSY = problem("unavailable", 503, retryable=True, Retry_After="2")


def run(folder: Path, server: StandIn, *arguments: Any) -> Ran:
    return Terminal(server.url, "a-token", folder).run(*arguments)


@pytest.mark.pattern("S1")
def test_an_order_without_an_answer_is_sent_again_with_its_key(tmp_path: Path) -> None:
    """After a lost connection, half an answer, and a server that names the time."""
    half = CannedAnswer(status=202, body=ORDER, missing=10)
    with stand_in(LOST, half, BUSY, ACCEPTED) as server:
        ran = run(tmp_path, server, *PLACE)
    assert ran.status == 0, ran.err
    assert ran.lines == [f"{ORDER['id']}  pending"]
    (key,) = {request.headers["idempotency-key"] for request in server.requests}
    assert ran.err.splitlines()[0] == f"Idempotency-Key: {key}"
    assert {request.headers["authorization"] for request in server.requests} == {"Token a-token"}
    assert {request.body for request in server.requests} == {
        json.dumps({"lines": [{"sku": "tidal-lines", "quantity": 2}], "ship_to": {"city": "Delft"}}).encode()
    }
    busy, accepted = server.requests[2:]
    assert accepted.at - busy.at >= 2


@pytest.mark.parametrize("answer", [LOST, problem("rate_limited", 429, retryable=True, Retry_After="9")])
def test_when_its_patience_is_over_it_says_how_to_be_sure(tmp_path: Path, answer: Any) -> None:
    with stand_in(answer) as server:
        ran = run(tmp_path, server, *PLACE, "--patience", "1")
    assert (ran.status, ran.out) == (3, "")
    key = ran.err.splitlines()[0].removeprefix("Idempotency-Key: ")
    assert f"Repeat the command with --key={key} to be sure" in ran.err
    assert {request.headers["idempotency-key"] for request in server.requests} == {key}
    if answer != LOST:
        assert len(server.requests) == 1


def test_a_problem_is_shown_with_its_code_its_places_and_its_request(tmp_path: Path) -> None:
    answer = problem("validation_failed", 400)
    answer.body["errors"] = [{"pointer": "/lines/0/sku", "detail": "There is no\x1b[2J such product."}]
    with stand_in(answer) as server:
        ran = run(tmp_path, server, *PLACE)
    assert (ran.status, ran.out, len(server.requests)) == (1, "", 1)
    assert ran.err.splitlines()[1:] == [
        "Title of validation_failed (400 validation_failed)",
        "  /lines/0/sku: There is no\\u001b[2J such product.",
        "  Request request-1",
    ]
    with stand_in(answer) as server:
        ran = run(tmp_path, server, *PLACE, "--json")
    assert (ran.status, json.loads(ran.out)) == (1, answer.body)


def test_what_only_this_problem_says_is_shown(tmp_path: Path) -> None:
    """`order` is the one that has the reference."""
    answer = problem("reference_taken", 409)
    answer.body["order"] = {"id": ORDER["id"], "url": f"/api/v1/orders/{ORDER['id']}"}
    with stand_in(answer) as server:
        ran = run(tmp_path, server, *PLACE)
    assert ran.err.splitlines()[2:] == [
        "  Detail.",
        f"  order.id: {ORDER['id']}",
        f"  order.url: /api/v1/orders/{ORDER['id']}",
        "  Request request-1",
    ]


@pytest.mark.parametrize(
    "answer",
    [
        CannedAnswer(body="<h1>Shop</h1>", kind="text/html"),
        CannedAnswer(status=302, body="", headers={"Location": "/elsewhere"}),
        CannedAnswer(status=404, body="<h1>Not found</h1>", kind="text/html"),
    ],
    ids=["a page", "a redirect", "no page"],
)
def test_a_server_that_is_another_one_is_said_to_be(tmp_path: Path, answer: CannedAnswer) -> None:
    """A redirect is not followed: the token is for this server alone."""
    with stand_in(answer) as server:
        ran = run(tmp_path, server, "orders", "show", ORDER["id"])
    assert (ran.status, ran.out, len(server.requests)) == (1, "", 1)
    assert f"The server answered {answer.status}, which is no answer of this API." in ran.err


def test_a_payment_whose_answer_is_lost_was_taken(tmp_path: Path) -> None:
    """The repetition is refused, because nothing waits for a payment any more; so the order is read."""
    pay = ("orders", "pay", ORDER["id"], "--payment-method", "card_ok")
    refused = problem("not_waiting_for_customer", 409)
    with stand_in(LOST, refused, CannedAnswer(body=ORDER)) as server:
        ran = run(tmp_path, server, *pay)
    assert (ran.status, ran.lines) == (0, [f"{ORDER['id']}  pending"])
    assert [request.method for request in server.requests] == ["POST", "POST", "GET"]
    assert json.loads(server.requests[0].body) == {"payment_method": "card_ok"}
    assert "the try without an answer was taken" in ran.err
    limited = problem("rate_limited", 429, retryable=True)
    with stand_in(limited, refused) as server:
        ran = run(tmp_path, server, *pay)
    assert (ran.status, ran.out, len(server.requests)) == (1, "", 2)


def version(number: int, **changes: Any) -> str:
    return f"id: {number}\nevent: order\ndata: {json.dumps({**ORDER, **changes})}\n\n"


def test_a_stream_that_breaks_off_goes_on_after_the_last_version(tmp_path: Path) -> None:
    """Half an event is none. A 204 says that the last version was the last."""
    first = CannedAnswer(body=version(1) + version(2)[:-9], kind="text/event-stream", missing=50)
    second = CannedAnswer(body=f": still here\n\n{version(2, state='compensated')}", kind="text/event-stream")
    with stand_in(first, LOST, BUSY, second, CannedAnswer(status=204)) as server:
        ran = run(tmp_path, server, "orders", "follow", ORDER["id"])
    assert (ran.status, ran.lines) == (1, [f"{ORDER['id']}  pending", f"{ORDER['id']}  compensated"])
    versions = [request.headers.get("last-event-id") for request in server.requests]
    assert versions == [None, "1", "1", "1", "2"]


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_order_that_is_placed_and_followed_is_shown_once_in_each_state(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    body = version(1) + version(2, state="processing") + version(3, state="processed")
    with stand_in(ACCEPTED, CannedAnswer(body=body, kind="text/event-stream")) as server:
        ran = run(tmp_path, server, *PLACE, "--follow", *options)
    assert ran.status == 0, ran.err
    states = [json.loads(line)["state"] if options else line.split()[1] for line in ran.lines]
    assert states == ["pending", "processing", "processed"]


@pytest.mark.parametrize(("until", "status"), [("customer", 0), ("error", 1)])
def test_following_ends_where_it_was_to(tmp_path: Path, until: str, status: int) -> None:
    links = {"corrections": "/corrections", "payment": "/payment"}
    waiting = version(1, waiting_for="customer", waiting_until="2030-01-01T12:30:00Z", links=links)
    body = waiting + version(2, state="compensated") + "event: end\ndata: {}\n\n"
    with stand_in(CannedAnswer(body=body, kind="text/event-stream")) as server:
        ran = run(tmp_path, server, "orders", "follow", ORDER["id"], "--until", until)
    assert ran.status == status
    assert ran.lines[0] == f"{ORDER['id']}  pending, waiting for customer until 2030-01-01T12:30:00Z"
    assert len(ran.lines) == 1 + status
    assert (f"bin/sasweb orders pay {ORDER['id']}" in ran.err) == bool(status)


@pytest.mark.parametrize(
    ("link", "advice"),
    [
        ("payment", f"Pay with: bin/sasweb orders pay {ORDER['id']} --payment-method …"),
        ("corrections", "Correct it: POST /the/corrections, with changes of what its `correctable` names."),
    ],
)
def test_following_says_what_a_waiting_order_can_be_helped_with(
    tmp_path: Path, link: str, advice: str
) -> None:
    links = {"corrections": "/the/corrections", link: f"/the/{link}"}
    body = version(1, waiting_for="customer", links=links) + version(2, state="compensated")
    with stand_in(CannedAnswer(body=body, kind="text/event-stream"), CannedAnswer(status=204)) as server:
        ran = run(tmp_path, server, "orders", "follow", ORDER["id"])
    assert [line for line in ran.err.splitlines() if line] == [advice]


def test_json_is_the_servers_own(tmp_path: Path) -> None:
    text = '{"title": "2 × 👩‍🎨 posters", "odd": "\\u0085", "number": 1.50}'
    with stand_in(CannedAnswer(body=text)) as server:
        assert run(tmp_path, server, "orders", "show", ORDER["id"], "--json").out == f"{text}\n"
    assert server.requests[0].path == f"/api/v1/orders/{ORDER['id']}"


def test_an_old_cursor_is_explained(tmp_path: Path) -> None:
    with stand_in(problem("cursor_expired", 410)) as server:
        ran = run(tmp_path, server, "changes", "--after", "A" * 38)
    assert ran.status == 1
    assert "Get a new cursor with `bin/sasweb changes --after latest`" in ran.err


def test_it_ends_when_its_reader_has_left(tmp_path: Path) -> None:
    """As `head` does when it has seen enough; here the feed has no end."""
    change = {"at": "2030-01-01T12:00:00Z", "order_id": ORDER["id"], "kind": "waiting", "step": ""}
    page = {"results": [change] * 50, "cursor": "A" * 38, "has_more": True}
    with stand_in(CannedAnswer(body=page)) as server:
        feed = Terminal(server.url, "a-token", tmp_path).start(
            "changes", f"--after={'A' * 38}", behind="head -n 2"
        )
        ran = feed.end()
    assert ran.lines == [f"2030-01-01T12:00:00Z  {ORDER['id']}  waiting"] * 2
    assert ran.err == f"Go on with: bin/sasweb changes --after={'A' * 38}\n"
