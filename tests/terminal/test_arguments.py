"""What the command needs, and what it says when that is missing or wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sasweb.terminal.addresses import read_url
from tests.architecture.source import ROOT
from tests.terminal.command import Terminal

NOWHERE = "http://127.0.0.1:9"
SHOW = ("orders", "show", "019b0000-0000-7000-8000-000000000001")


def at(folder: Path, *, url: str = NOWHERE, token: str = "a-token") -> Terminal:
    return Terminal(url, token, folder)


@pytest.mark.parametrize(
    ("url", "token", "advice"),
    [
        ("", "a-token", "No server: set SASWEB_URL"),
        (
            "ftp://shop.example",
            "a-token",
            "SASWEB_URL is not valid: expected a url that begins with http:// or",
        ),
        (NOWHERE, "", "No token: set SASWEB_TOKEN, or give --token-file"),
        (NOWHERE, "a token", "SASWEB_TOKEN is not valid"),
    ],
)
def test_without_a_server_or_a_token_it_says_what_to_do(
    tmp_path: Path, url: str, token: str, advice: str
) -> None:
    ran = at(tmp_path, url=url, token=token).run(*SHOW)
    assert (ran.status, ran.out) == (2, "")
    assert advice in ran.err and "Traceback" not in ran.err


def test_an_order_that_has_no_id_is_a_mistake(tmp_path: Path) -> None:
    ran = at(tmp_path).run("orders", "cancel", "invoice-7")
    assert ran.status == 2
    assert "expected the order's id, a UUID, or its number, such as 7KXM-93DJ" in ran.err


@pytest.mark.parametrize("rest", [(), ("--state", "error")])
def test_who_looks_for_a_list_of_orders_reads_where_it_is(tmp_path: Path, rest: tuple[str, ...]) -> None:
    ran = at(tmp_path, url="", token="").run("orders", "list", *rest)
    assert (ran.status, ran.out) == (2, "") and len(ran.err.splitlines()) == 1
    assert "`manage.py orders`" in ran.err and "`bin/sasweb changes`" in ran.err


def test_a_token_is_never_on_the_command_line(tmp_path: Path) -> None:
    """Everybody on the machine can read command lines. A file or the environment has it."""
    assert at(tmp_path).run(*SHOW, "--token", "a-token").status == 2
    ran = at(tmp_path).run(*SHOW, "--token-file", "nowhere")
    assert (ran.status, ran.err) == (2, "The token file nowhere cannot be read: No such file or directory.\n")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "is empty. Whoever runs the server makes a token"),
        (b"a token", "is not valid: it has other characters"),
        (b"\xff", "cannot be read: it is no text"),
    ],
)
def test_a_token_file_is_named_when_something_is_wrong_with_it(
    tmp_path: Path, content: bytes, fault: str
) -> None:
    (tmp_path / "token").write_bytes(content)
    ran = at(tmp_path).run(*SHOW, "--token-file", "token")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"The token file token {fault}") and "SASWEB_TOKEN" not in ran.err


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("http://127.0.0.1:99999", "expected a port from 1 to 65535"),
        ("http://127.0.0.1:0", "expected a port from 1 to 65535"),
        ("http://127.0.0.1:web", "expected a port from 1 to 65535"),
        ("99999/hook", "expected a port from 1 to 65535"),
        ("http://[::1", "expected a host, such as shop.example or [::1]"),
        ("http://", "expected a host after http:// or https://"),
        ("http://127.0.0.1:8510/a b", "expected a url without spaces, in ASCII"),
        ("http://user:hunter2@127.0.0.1", "expected a url without a user or a password"),
        ("user:hunter2@127.0.0.1", "expected a url without a user or a password"),
    ],
)
def test_what_is_wrong_with_a_url_is_said_without_showing_it(tmp_path: Path, url: str, fault: str) -> None:
    for ran in (
        at(tmp_path).run(*SHOW, "--url", url),
        at(tmp_path).run("listen", "--forward-to", url),
        at(tmp_path, url=url).run(*SHOW),
    ):
        assert (ran.status, ran.out) == (2, "")
        assert ran.err.strip().endswith(fault)
        assert "hunter2" not in ran.err


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("4242", "http://localhost:4242"),
        ("4242/hook", "http://localhost:4242/hook"),
        ("localhost:4242/hook", "http://localhost:4242/hook"),
        ("10.0.0.1:4242", "http://10.0.0.1:4242"),
        ("https://[::1]:4242/hook?shop=1", "https://[::1]:4242/hook?shop=1"),
    ],
)
def test_a_url_of_this_machine_can_be_short(text: str, url: str) -> None:
    assert read_url(text) == url


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ((), "Say what to order"),
        (("--line", "tidal-lines"), "expected SKU=QUANTITY"),
        (("--file", "nowhere.json"), "nowhere.json cannot be read: No such file or directory"),
        (("--file", "-"), "- is not JSON in UTF-8"),
        (("--line", "a=1", "--set", "email=a", "--set", "email.at=b"), "email is not an object"),
        (("--line", "a=1", "--until", "compensated"), "--until says until when --follow goes on: give both"),
        (("--line", "a=1", "--key", "ü"), "expected 1 to 255 printable ASCII characters"),
    ],
)
def test_an_order_that_cannot_be_written_is_not_sent(
    tmp_path: Path, arguments: tuple[str, ...], advice: str
) -> None:
    ran = at(tmp_path).run("orders", "place", *arguments, stdin="{")
    assert (ran.status, ran.out) == (2, "")
    assert advice in ran.err and "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("option", "value", "advice"),
    [
        ("--secret", "whsec_c2hvcnQ=", "expected whsec_ and 24 to 64 bytes in base64"),
        ("--forward-to", "ftp://localhost", "expected a url that begins with http:// or https://"),
    ],
)
def test_a_receiver_that_cannot_be_called_is_a_mistake(
    tmp_path: Path, option: str, value: str, advice: str
) -> None:
    ran = at(tmp_path).run("listen", "--forward-to", "localhost:4242/hook", option, value)
    assert ran.status == 2 and advice in ran.err


def test_the_script_runs_from_any_folder(tmp_path: Path) -> None:
    """Also from one that has a package of the same name."""
    (tmp_path / "sasweb").mkdir()
    (tmp_path / "sasweb" / "__init__.py").write_text("raise SystemExit(9)")
    ran = subprocess.run(
        [ROOT / "bin" / "sasweb", "--help"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    assert "exit status: 0 done" in ran.stdout and "manage.py" in ran.stdout
