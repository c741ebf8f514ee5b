"""How a command ends before it is done: it says what may have happened, and how to go on."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from sasweb.webhook_signatures import make_secret, write_secret
from tests.terminal.command import Terminal
from tests.terminal.stand_in import LOST, ORDER, CannedAnswer, problem, stand_in

PLACE = ("orders", "place", "--line", "tidal-lines=2")
LOOK = f"Look with: bin/sasweb orders show {ORDER['id']}"
CURSOR, NEXT = "A" * 38, "B" * 38


def page(cursor: str, *, has_more: bool = False) -> CannedAnswer:
    return CannedAnswer(body={"results": [], "cursor": cursor, "has_more": has_more})


def at(folder: Path, url: str) -> Terminal:
    return Terminal(url, "a-token", folder)


def resuming(err: str) -> list[str]:
    """The words of the command that goes on."""
    (line,) = [line for line in err.splitlines() if line.startswith("Go on with: ")]
    return shlex.split(line.removeprefix("Go on with: "))


@pytest.mark.parametrize(
    ("command", "doubt"),
    [
        (
            (*PLACE, "--key", "invoice 7"),
            "The order may have been placed. Repeat the command with --key='invoice 7'",
        ),
        (("orders", "pay", ORDER["id"]), f"The payment may have been taken. {LOOK}"),
        (("orders", "cancel", ORDER["id"]), f"The order may have been cancelled. {LOOK}"),
    ],
)
def test_what_may_have_been_done_is_said_when_nobody_waits_any_more(
    tmp_path: Path, command: tuple[str, ...], doubt: str
) -> None:
    with stand_in(LOST) as server:
        terminal = at(tmp_path, server.url)
        waiting = terminal.start(*command)
        try:
            waiting.until_says("trying again")
            interrupted = waiting.interrupt()
        finally:
            terminal.end()
        impatient = terminal.run(*command, "--patience", "0")
    assert (interrupted.status, impatient.status) == (130, 3)
    for ran in (interrupted, impatient):
        assert ran.err.splitlines()[-1].startswith(doubt), ran.err
        assert "Traceback" not in ran.err


def test_a_feed_that_stops_goes_on_with_all_that_was_given(tmp_path: Path) -> None:
    refusal = problem("permission_denied", 403)
    with stand_in(page(NEXT), refusal) as server:
        command = ("changes", "--follow", "--json", f"--url={server.url}")
        ran = at(tmp_path, "").run(*command, "--after", CURSOR)
    assert ran.status == 1
    assert resuming(ran.err) == ["bin/sasweb", *command, f"--after={NEXT}"]


@pytest.mark.parametrize("secret", ["", write_secret(make_secret())], ids=["a new secret", "a given secret"])
def test_forwarding_goes_on_with_the_same_secret(tmp_path: Path, secret: str) -> None:
    command = ["listen", "--forward-to", "http://localhost:4242/hook?a=1&b=2"]
    command += [f"--secret={secret}"] if secret else []
    with stand_in(page(NEXT), problem("permission_denied", 403)) as server:
        ran = at(tmp_path, server.url).run(*command, f"--after={CURSOR}")
    assert ran.status == 1
    signed = ran.err.splitlines()[0].removeprefix("Signing secret: ")
    assert signed == (secret or signed)
    assert resuming(ran.err) == ["bin/sasweb", *command[:3], f"--secret={signed}", f"--after={NEXT}"]


@pytest.mark.parametrize("refused", [problem("validation_failed", 400), problem("cursor_expired", 410)])
def test_nothing_goes_on_after_a_cursor_that_was_refused(tmp_path: Path, refused: CannedAnswer) -> None:
    with stand_in(refused) as server:
        ran = at(tmp_path, server.url).run("changes", "--after", "garbage")
    assert ran.status == 1 and refused.body["code"] in ran.err
    assert "Go on with" not in ran.err
    with stand_in(page(NEXT), refused) as server:
        ran = at(tmp_path, server.url).run("listen", "--forward-to", "4242")
    assert ran.status == 1 and "Ready. Changes of your orders are posted to http://localhost:4242." in ran.err
    assert "Go on with" not in ran.err


@pytest.mark.parametrize(
    ("command", "body"),
    [
        (("changes", "--json"), page(NEXT).body),
        (("orders", "show", ORDER["id"]), ORDER),
        (PLACE, ORDER),
    ],
)
def test_an_answer_that_cannot_be_written_is_said_to_be(
    tmp_path: Path, command: tuple[str, ...], body: Any
) -> None:
    with stand_in(CannedAnswer(body=body)) as server, Path("/dev/full").open("w") as full:
        ran = at(tmp_path, server.url).run(*command, out=full)
    assert ran.status == 3
    assert ran.err.splitlines()[-1] == (
        "The answer cannot be written to standard output: No space left on device."
    )
    assert "Traceback" not in ran.err and "Exception" not in ran.err


def test_a_refusal_that_cannot_be_written_is_said_to_be(tmp_path: Path) -> None:
    with stand_in(problem("not_found", 404)) as server, Path("/dev/full").open("w") as full:
        ran = at(tmp_path, server.url).run("orders", "show", ORDER["id"], "--json", out=full)
    assert ran.status == 3
    assert "404 not_found" in ran.err and "Traceback" not in ran.err
