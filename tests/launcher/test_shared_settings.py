"""A command in another terminal has the settings of the demonstration that runs, and of no other."""

import os
import subprocess
from pathlib import Path

from orders.management.commands.up import the_only_launcher
from sasweb.launcher import launch, shared_settings
from tests.launcher.helpers import python

SETTINGS = {"DEBUG": "true", "BIND": "127.0.0.1:8765"}


def adopted(folder: Path, **environment: str) -> dict[str, str]:
    shared_settings.adopt(environment, default_folder=folder)
    return environment


def test_a_command_beside_a_demonstration_has_its_settings_except_those_it_sets(tmp_path: Path) -> None:
    with the_only_launcher(tmp_path):
        shared_settings.share(tmp_path, SETTINGS)
        assert adopted(tmp_path) == SETTINGS
        assert adopted(tmp_path, DEBUG="false") == {**SETTINGS, "DEBUG": "false"}
        assert adopted(Path("/nowhere"), VAR_DIR=str(tmp_path)) == {**SETTINGS, "VAR_DIR": str(tmp_path)}
        assert (tmp_path / shared_settings.FILE).stat().st_mode & 0o777 == 0o600


def test_a_demonstration_that_has_ended_leaves_nothing(tmp_path: Path) -> None:
    with the_only_launcher(tmp_path):
        shared_settings.share(tmp_path, SETTINGS)
    assert not (tmp_path / shared_settings.FILE).exists()
    assert adopted(tmp_path) == adopted(tmp_path / "nothing") == {}


def test_what_a_killed_demonstration_has_left_counts_neither_alone_nor_in_production(tmp_path: Path) -> None:
    shared_settings.share(tmp_path, SETTINGS)
    (tmp_path / shared_settings.LOCK).touch()
    assert adopted(tmp_path) == {}
    with the_only_launcher(tmp_path):
        assert adopted(tmp_path) == {}


def test_a_launcher_has_its_own_settings(tmp_path: Path) -> None:
    """Otherwise one that starts while another stops would look for the database of that one."""
    shown = {}
    with the_only_launcher(tmp_path):
        shared_settings.share(tmp_path, {"BIND": "nowhere"})
        for command in ("up", "workflows"):
            env = {"VAR_DIR": str(tmp_path)}
            with python("manage.py", command, env=env, stderr=subprocess.PIPE) as process:
                shown[command] = process.communicate(timeout=120)[1]
    assert "already running as process" in shown["up"]
    assert "BIND='nowhere' is not valid" in shown["workflows"]


def test_what_is_shared_are_the_settings_of_the_project() -> None:
    env = {**SETTINGS, "VAR_DIR": "/var", "PATH": os.defpath, "BUSINESSES": "orders.shop,bakery"}
    assert launch.settings_of(env) == {**SETTINGS, "BUSINESSES": "orders.shop,bakery"}
