"""`bin/sasweb` as a process, in a Python that has the standard library and nothing else."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from tests.architecture.source import ROOT
from tests.support.wait import until

BOUND = 180.0
"""Seconds that a command may take."""


class Ran(NamedTuple):
    """What a command printed, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> Sequence[str]:
        return self.out.splitlines()


class Running:
    """A command that goes on. What it prints is in files."""

    def __init__(self, argv: Sequence[str], environment: dict[str, str], place: Path) -> None:
        self._out, self._err = place.with_suffix(".out"), place.with_suffix(".err")
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._process = subprocess.Popen(
                argv, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=place.parent
            )

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    def until_says(self, text: str) -> None:
        """Waits until it has printed this, in either place."""
        until(lambda: text in self.out or text in self.err or self._has_ended(), what=text)
        assert text in self.out + self.err, self.err

    def end(self) -> Ran:
        """Waits until it ends by itself."""
        return Ran(self._process.wait(BOUND), self.out, self.err)

    def interrupt(self) -> Ran:
        """Ends it as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)
        return self.end()

    def kill(self) -> None:
        """Ends it at once."""
        self._process.kill()
        self._process.wait(BOUND)

    def _has_ended(self) -> bool:
        return self._process.poll() is not None


class Terminal:
    """Somebody at a terminal, with the address of a server and a token."""

    def __init__(self, url: str, token: str, folder: Path, **environment: str) -> None:
        self._folder = folder
        self._environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "SASWEB_URL": url,
            "SASWEB_TOKEN": token,
            **environment,
        }
        self._running: list[Running] = []

    def run(self, *arguments: Any, stdin: str = "", out: IO[str] | int = subprocess.PIPE) -> Ran:
        """Runs a command to its end."""
        ended = subprocess.run(
            self._argv(arguments),
            env=self._environment,
            input=stdin,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            timeout=BOUND,
            cwd=self._folder,
        )
        return Ran(ended.returncode, ended.stdout or "", ended.stderr)

    def start(self, *arguments: Any, behind: str = "") -> Running:
        """Starts a command that goes on. A shell pipes what it prints to the command `behind`."""
        place = self._folder / f"command-{len(self._running)}"
        argv = self._argv(arguments)
        argv = ["sh", "-c", f"{shlex.join(argv)} | {behind}"] if behind else argv
        running = Running(argv, self._environment, place)
        self._running.append(running)
        return running

    def end(self) -> None:
        """Ends every command."""
        for running in self._running:
            running.kill()

    def _argv(self, arguments: Sequence[Any]) -> list[str]:
        return [sys.executable, "-S", "-m", "sasweb.terminal", *map(str, arguments)]
