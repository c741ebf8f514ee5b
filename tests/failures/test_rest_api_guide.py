"""Every example of docs/rest-api.md is executed, in order, and prints what the guide shows."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from orders.models import Order
from orders.vocabulary import TokenScope
from tests.architecture.source import ROOT
from tests.support.people import person, token_of
from tests.support.system import System, database_url
from tests.support.wait import until
from tests.web.server import Server

GUIDE = (ROOT / "docs" / "rest-api.md").read_text()
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = "http://127.0.0.1:8000"
ANYTHING = "…"
BOUND = 240.0
"""Seconds that an example may take."""
END = "the end of the example:"

INTERPRETER = f"""
import json, sys, traceback
names = {{"__name__": "guide"}}
for line in sys.stdin:
    failed = 0
    try:
        exec(compile(json.loads(line), "guide", "exec"), names)
    except BaseException:
        traceback.print_exc(file=sys.stdout)
        failed = 1
    print("\\n{END}", failed, flush=True)
"""
"""Runs one example a line, all with the same names."""


class Interpreter:
    """A process that runs examples and prints END after each, with 0 if it succeeded."""

    def __init__(self, argv: list[str], folder: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            argv,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, text: str) -> str:
        """What an example prints. It must succeed."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(text)
        self._process.stdin.flush()
        output = ""
        timer = threading.Timer(BOUND, self._process.kill)
        timer.start()
        try:
            for line in self._process.stdout:
                if line.startswith(END):
                    assert line == f"{END} 0\n", output
                    return output.removesuffix("\n")
                output += line
        finally:
            timer.cancel()
        raise AssertionError(
            f"the example ended its interpreter, or took longer than {BOUND:.0f} s: {output}"
        )

    def end(self) -> None:
        """Ends the process."""
        self._process.kill()
        self._process.communicate()


class Reader:
    """Somebody with a shell in `folder`, and a Python that has the variables which the shell exports."""

    def __init__(self, folder: Path, url: str) -> None:
        self._url = url
        self._folder = folder
        self._shell = Interpreter(["bash"], folder, {"PATH": os.environ["PATH"]})
        self._python: Interpreter | None = None

    def run(self, language: str, example: str) -> str:
        """What an example prints."""
        example = example.replace(SHOWN, self._url)
        if language == "sh":
            output = self._in_shell(example)
        else:
            self._python = self._python or self._start_python()
            output = self._python.run(json.dumps(example) + "\n")
        return output.replace(self._url, SHOWN)

    def _in_shell(self, example: str) -> str:
        return self._shell.run(f"{example}\nstatus=$?; echo; echo {END} $status\n")

    def _start_python(self) -> Interpreter:
        exported = self._in_shell("env -0 | tr '\\0' '\\n'").splitlines()
        environment = dict(line.split("=", 1) for line in exported if "=" in line)
        return Interpreter([sys.executable, "-uc", INTERPRETER], self._folder, environment)

    def end(self) -> None:
        """Ends both."""
        self._shell.end()
        if self._python:
            self._python.end()


def assert_shown(shown: Any, printed: Any) -> None:
    """Compares JSON: what the guide shows is there; objects may have more members. `…` stands for anything."""
    if isinstance(shown, dict):
        assert isinstance(printed, dict)
        for name, value in shown.items():
            assert name in printed, f"no {name} in {printed}"
            assert_shown(value, printed[name])
    elif isinstance(shown, list):
        assert isinstance(printed, list) and len(shown) == len(printed), f"{shown} is not {printed}"
        for value, other in zip(shown, printed, strict=True):
            assert_shown(value, other)
    elif shown != ANYTHING:
        assert shown == printed


def pattern_of(text: str) -> str:
    """The pattern that printed lines match, without what is white space at the end of them."""
    return re.escape(text.strip()).replace(re.escape(ANYTHING), ".*")


@pytest.fixture
def reader(system: System, tmp_path: Path) -> Iterator[Reader]:
    """A reader beside a running system, with a token as `bin/up` writes it, and an operator's."""
    system.environment |= {"CUSTOMER_WAIT": "120", "CLIENT_WEBHOOK_NETWORKS": "127.0.0.0/8"}
    system.start_all()
    (tmp_path / "var").mkdir(exist_ok=True)
    token = token_of(User.objects.create(username="ada"), TokenScope.READ, TokenScope.ORDERS)
    (tmp_path / "var" / "demo-token").write_text(token)
    (tmp_path / "var" / "operator-token").write_text(token_of(person("operator", "olga")))
    server = Server(
        tmp_path / "web.log",
        database_url=database_url(),
        **{
            name: system.environment[name]
            for name in ("SECRET_KEY", "VAR_DIR", "SANDBOX_BIND", "CLIENT_WEBHOOK_NETWORKS")
        },
    )
    reader = Reader(tmp_path, f"http://127.0.0.1:{server.port}")
    try:
        until(server.answers, what="the web server")
        yield reader
    finally:
        reader.end()
        server.end()


@pytest.mark.pattern("S1", "O1")
def test_every_example_of_the_guide_prints_what_it_shows(reader: Reader, system: System) -> None:
    printed = ""
    shown = 0
    for language, text in BLOCK.findall(GUIDE):
        if language == "json":
            assert_shown(json.loads(text), json.loads(printed))
            shown += 1
        elif language == "text":
            assert re.fullmatch(pattern_of(text), printed.replace("\r", "").strip()), printed
            shown += 1
        else:
            assert language in ("sh", "python")
            printed = reader.run(language, text)
    assert shown > 10
    keys = set(re.findall(r"invoice-\d+", GUIDE))
    system.acknowledged = list(Order.objects.values_list("pk", flat=True))
    assert len(system.acknowledged) == len(keys), "a key stands for one order"
    system.check()


def test_the_guide_names_no_operation_that_there_is_not() -> None:
    """Each `GET /…` and `POST /…` in a sentence is an operation of the document."""
    from orders.api import document  # noqa: PLC0415 - only now are there settings

    operations = json.loads(document.render("json"))["paths"]
    for method, path in re.findall(r"`(GET|POST|PATCH|DELETE) (/[^`?]+)", GUIDE):
        named = re.sub(r"\{\w+\}", "{}", f"/api/v1{path}")
        matching = [own for own in operations if re.sub(r"\{\w+\}", "{}", own) == named]
        assert matching and method.lower() in operations[matching[0]], f"{method} {path}"
