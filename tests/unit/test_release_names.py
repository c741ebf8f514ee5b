"""What a release is called: its version, and the commit of a checkout, however git stores that."""

from pathlib import Path

import pytest

from sasweb import releases

COMMIT = "421afc24d6c71111222233334444555566667777"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.9.1"\n')
    return tmp_path


def test_without_git_it_is_the_version(folder: Path) -> None:
    assert releases.current(folder) == "0.9.1"


def test_in_a_checkout_it_has_the_commit_of_the_branch(folder: Path) -> None:
    (folder / ".git/refs/heads").mkdir(parents=True)
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git/packed-refs").write_text(
        f"# pack-refs\n{'0' * 40} refs/heads/my-main\n{COMMIT} refs/heads/main\n"
    )
    assert releases.current(folder) == "0.9.1+421afc24"
    (folder / ".git/refs/heads/main").write_text(f"{'ab' * 20}\n")  # newer than what is packed
    assert releases.current(folder) == "0.9.1+abababab"
    (folder / ".git/HEAD").write_text(f"{COMMIT}\n")  # a deployment checks out a commit
    assert releases.current(folder) == "0.9.1+421afc24"


def test_in_a_worktree_it_has_the_commit_as_well(folder: Path, tmp_path: Path) -> None:
    git = tmp_path / "main/.git"
    (git / "worktrees/live").mkdir(parents=True)
    (git / "refs/heads").mkdir(parents=True)
    (git / "refs/heads/live").write_text(COMMIT)
    (git / "worktrees/live/HEAD").write_text("ref: refs/heads/live")
    (git / "worktrees/live/commondir").write_text("../..\n")
    (folder / ".git").write_text(f"gitdir: {git / 'worktrees/live'}\n")
    assert releases.current(folder) == "0.9.1+421afc24"


@pytest.mark.parametrize("head", ["", "ref: refs/heads/unborn", "nonsense", "ref: ../../pyproject.toml"])
def test_a_checkout_that_cannot_be_read_has_the_version_alone(folder: Path, head: str) -> None:
    (folder / ".git").mkdir()
    (folder / ".git/HEAD").write_text(head)
    assert releases.current(folder) == "0.9.1"
