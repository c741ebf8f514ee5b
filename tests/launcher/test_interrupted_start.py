"""Ctrl-C while `manage.py` is still importing what it needs."""

import subprocess
from pathlib import Path

import pytest

from tests.launcher.helpers import python

HOOK = """
import os, signal, sys

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == os.environ["INTERRUPTED_AT"]:
            sys.stdout.write(f"importing {name}")
            sys.stdout.flush()
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder)
"""
"""Python runs it first, as `sitecustomize`. It interrupts the process as it imports this module."""


@pytest.mark.parametrize(
    ("command", "module"),
    [
        ("up", "sasweb.launcher.shared_settings"),
        ("up", "django.core.management"),
        ("up", "sasweb.settings"),
        ("up", "orders.apps"),
        ("up", "orders.management.commands.up"),
        ("orders", "orders.management.commands.orders"),
    ],
)
def test_ctrl_c_during_an_import_ends_quietly(tmp_path: Path, command: str, module: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(HOOK)
    env = {"PYTHONPATH": str(tmp_path), "INTERRUPTED_AT": module, "VAR_DIR": str(tmp_path / "var")}
    with python("manage.py", command, env=env, stderr=subprocess.PIPE) as process:
        output, errors = process.communicate(timeout=180)
    assert (process.returncode, output, errors) == (130, f"importing {module}", "")
