"""Every command of docs/your-business.md is executed, in order, in a copy of the project: the reader's three terminals.

The copy has the database of the test and ports of its own; apart from that it is what a clone has.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from orders.models import OrderProcess, SubmissionMessage
from tests.architecture.source import ROOT
from tests.support.ports import free_ports
from tests.support.system import ENDED, database_url
from tests.support.wait import until

GUIDE = (ROOT / "docs" / "your-business.md").read_text()
BLOCK = re.compile(r"^```(sh|diff)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BOUND = 300.0
"""Seconds that a command may take."""
STARTS = {"-m bakery.standin": "Running on http", "bin/up": "sasweb is ready"}
"""How the commands begin that go on until they are ended, and what they print when they are ready."""
PRINTS = {
    "manage.py startbusiness bakery": ["bakery is in"],
    "ID=$(manage.py start_order": [""],
    "manage.py order $ID": ["state       processed", "bakery-order, version "],
    "curl -s http://127.0.0.1:9200/ledger": ['/reserve/1", "reserve"], [', '/deliver/1", "deliver"]'],
    "curl -s http://127.0.0.1:8000/api/v1/orders -H": ['"subject":"table 5","title":"1 × cake"'],
    "bin/test bakery/tests": [" passed"],
    "TOKEN=$(manage.py token operator": ["read, operate"],
    "curl -s http://127.0.0.1:8000/api/v1/orders/$ID/steps/taste/decision": ["serve"],
    "manage.py workflows": ["bakery-order        1 ", "bakery-order        2 "],
    "manage.py reconcile": ["0 discrepancies"],
}
"""How the others begin, and what they print."""


def normal(command: str) -> str:
    """A command without its variables and without the path of Python."""
    return re.sub(r"^(?:[A-Z]+=\w\S* )+", "", command.replace(".venv/bin/python ", ""))


def commands_of(block: str) -> list[str]:
    return block.replace("\\\n", "").splitlines()


class Reader:
    """Somebody with the copy of the project in `folder`, a shell, and other terminals for what goes on running."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.used: list[str] = []
        self._environment = {"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1"}
        web, self._standin, sandbox = (f"127.0.0.1:{free_ports()}" for _ in range(3))
        self._own = {"127.0.0.1:8000": web, "127.0.0.1:9200": self._standin}
        self._started = {
            **{"DATABASE_URL": database_url(), "BIND": web, "SANDBOX_BIND": sandbox},
            "BAKERY_STANDIN_BIND": self._standin,
        }
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._shell = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def do(self, command: str) -> None:
        """Executes a command as the guide has it, and checks what it prints."""
        beginnings = [text for text in (*STARTS, *PRINTS) if normal(command).startswith(text)]
        assert len(beginnings) == 1, f"this test does not know what this prints: {command}"
        self.used += beginnings
        for shown, own in self._own.items():
            command = command.replace(shown, own)
        if beginnings[0] in STARTS:
            self._start(beginnings[0], command)
        else:
            output = self._run(command)
            for text in PRINTS[beginnings[0]]:
                assert text in output, f"{command}\n{output}"
        until(_is_at_rest, what="the orders")

    def _run(self, command: str) -> str:
        assert self._shell.stdin and self._shell.stdout
        self._shell.stdin.write(f"{command}\necho; echo ended with $?\n")
        self._shell.stdin.flush()
        output = ""
        timer = threading.Timer(BOUND, self._kill_shell)
        timer.start()
        try:
            for line in self._shell.stdout:
                if line.startswith("ended with "):
                    assert line == "ended with 0\n", f"{command}\n{output}"
                    return output
                output += line
        finally:
            timer.cancel()
        raise AssertionError(f"{command} has ended the shell, or did not end within {BOUND:.0f} s:\n{output}")

    def _kill_shell(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._shell.pid, signal.SIGKILL)

    def _start(self, name: str, command: str) -> None:
        if name in self._running:
            self._end(self._running.pop(name))
        log = self.folder.parent / f"{len(self.used)}.log"
        with log.open("wb") as output:
            self._running[name] = subprocess.Popen(
                ["bash", "-c", f"exec env {command}"],
                cwd=self.folder,
                env=self._environment | self._started,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        until(lambda: STARTS[name] in log.read_text() or self._running[name].poll() is not None, what=command)
        assert self._running[name].poll() is None, log.read_text()

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        finally:
            process.kill()

    def leave(self) -> None:
        """Ends everything that runs."""
        for process in self._running.values():
            self._end(process)
        self._kill_shell()
        self._shell.communicate()


def _is_at_rest() -> bool:
    """Whether no order is under way, but for those that wait for somebody."""
    under_way = OrderProcess.objects.exclude(process_state__in=ENDED).exclude(steps__state="awaiting")
    return not SubmissionMessage.objects.exists() and not under_way.exists()


def change(folder: Path, diff: str) -> None:
    """Changes the file that a diff names, as somebody does who reads it."""
    name, *parts = diff.split("@@\n")
    file = folder / name.removeprefix("--- ").strip()
    text = file.read_text()
    for part in parts:
        lines = part.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        assert text.count(before) == 1, f"{file} has no such lines, or has them twice:\n{before}"
        text = text.replace(before, after)
    file.write_text(text)


@pytest.fixture
def reader(transactional_db: None, tmp_path: Path) -> Iterator[Reader]:
    """A reader with a fresh copy of the project."""
    folder = tmp_path / "clone"
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    reader = Reader(folder)
    yield reader
    reader.leave()


@pytest.mark.pattern("C4")
def test_every_command_of_the_guide_does_what_it_says(reader: Reader) -> None:
    for language, block in BLOCK.findall(GUIDE):
        if language == "diff":
            change(reader.folder, block)
        else:
            for command in commands_of(block):
                reader.do(command)
    assert set(reader.used) == {*STARTS, *PRINTS}


def test_a_command_within_a_sentence_is_one_that_is_executed() -> None:
    executed = [
        normal(command)
        for language, block in BLOCK.findall(GUIDE)
        if language == "sh"
        for command in commands_of(block)
    ]
    named = re.findall(r"`((?:[A-Z_]+=\S+ )*(?:\.venv/|bin/|manage\.py )[^`]+)`", BLOCK.sub("", GUIDE))
    assert len(named) > 5
    assert [name for name in named if not any(normal(name) in command for command in executed)] == []
