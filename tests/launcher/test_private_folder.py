"""`VAR_DIR` belongs to its owner alone, and a folder that is not only ours is left as it is."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from sasweb.launcher.launch import LaunchError
from sasweb.launcher.private_folder import make_private

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act for two users")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that an earlier release has left readable for everybody."""
    folder = tmp_path / "var"
    folder.mkdir()
    folder.chmod(0o755)
    for name in ("sandbox.sqlite3", "secret-key"):
        (folder / name).touch()
        (folder / name).chmod(0o644)
    return folder


def test_an_open_folder_and_its_files_are_closed_to_others(folder: Path) -> None:
    make_private(folder, has_server=False)
    assert mode(folder) == 0o700
    assert {mode(path) for path in folder.iterdir()} == {0o600}


def test_a_file_elsewhere_that_a_link_leads_to_is_left_alone(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").touch(mode=0o644)
    (tmp_path / "elsewhere").chmod(0o644)
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    make_private(folder, has_server=False)
    assert mode(tmp_path / "elsewhere") == 0o644


def test_a_folder_that_others_use_too_is_refused_and_left_alone(folder: Path) -> None:
    (folder / "log").mkdir()
    with pytest.raises(LaunchError, match=r"VAR_DIR=.* also holds the folder log: run `chmod 700"):
        make_private(folder, has_server=False)
    assert (mode(folder), mode(folder / "secret-key")) == (0o755, 0o644)
    folder.chmod(0o700)
    make_private(folder, has_server=False)
    assert mode(folder / "secret-key") == 0o600


@as_root
def test_the_user_of_the_embedded_server_gets_through_to_its_own_folder_and_to_nothing_else() -> None:
    nobody = pwd.getpwnam("nobody")
    folder = Path(tempfile.mkdtemp())  # not in the tests' own folder, which only root can enter
    try:
        (folder / "postgres").mkdir()
        os.chown(folder / "postgres", nobody.pw_uid, nobody.pw_gid)
        (folder / "secret-key").touch()
        make_private(folder, has_server=True)
        script = 'cd "$0"/postgres && ! ls "$0" && ! cat "$0"/secret-key'
        command = ["sh", "-c", script, str(folder)]
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [], "cwd": "/"}
        done = subprocess.run(command, **user, capture_output=True, check=False)
        assert (done.returncode, mode(folder)) == (0, 0o711)
    finally:
        shutil.rmtree(folder)
