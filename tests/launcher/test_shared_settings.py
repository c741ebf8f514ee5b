"""A command in another terminal has the settings of the demonstration that runs, and of no other."""

import os
from pathlib import Path

from orders.management.commands.up import the_only_launcher
from sasweb.launcher import launch, shared_settings

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


def test_what_is_shared_are_the_settings_of_the_project() -> None:
    env = {**SETTINGS, "VAR_DIR": "/var", "PATH": os.defpath, "BUSINESSES": "orders.shop,bakery"}
    assert launch.settings_of(env) == {**SETTINGS, "BUSINESSES": "orders.shop,bakery"}
