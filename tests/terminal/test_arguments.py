"""What the command needs, and what it says when that is missing or wrong."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
        ("ftp://shop.example", "a-token", "expected a url that begins with http:// or https://"),
        (NOWHERE, "", "No token: set SASWEB_TOKEN, or give --token-file"),
        (NOWHERE, "a token", "The token is not valid"),
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
    assert ran.status == 2 and "expected the id that the order was given, a UUID" in ran.err


def test_a_token_is_never_on_the_command_line(tmp_path: Path) -> None:
    """Everybody on the machine can read command lines. A file or the environment has it."""
    assert at(tmp_path).run(*SHOW, "--token", "a-token").status == 2
    ran = at(tmp_path).run(*SHOW, "--token-file", "nowhere")
    assert (ran.status, ran.err) == (2, "The token file nowhere cannot be read.\n")


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ((), "Say what to order"),
        (("--line", "tidal-lines"), "expected SKU=QUANTITY"),
        (("--file", "nowhere.json"), "nowhere.json cannot be read: No such file or directory"),
        (("--file", "-"), "- is not JSON in UTF-8"),
        (("--line", "a=1", "--set", "email=a", "--set", "email.at=b"), "email is not an object"),
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
