"""The release of the code that a process has loaded: its version, and its commit where the code is a git checkout."""

import re
import tomllib
from pathlib import Path

SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,39}", re.ASCII)
"""What a release may be called."""
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHORT = 8


def version(folder: Path) -> str:
    """The version of the project in a folder."""
    return str(tomllib.loads((folder / "pyproject.toml").read_text())["project"]["version"])


def current(folder: Path) -> str:
    """The release of the code in a folder as it is now: "0.9.1", or "0.9.1+421afc24" in a git checkout."""
    commit = _commit(folder / ".git")
    return f"{version(folder)}+{commit[:_SHORT]}" if commit else version(folder)


def _commit(git: Path) -> str:
    """The commit that is checked out; "" if it cannot be read. Starts no program: git may not be installed."""
    try:
        if git.is_file():  # of a worktree
            git = git.parent / git.read_text().partition("gitdir:")[2].strip()
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head if _COMMIT.fullmatch(head) else ""
        common = git / "commondir"
        shared = git / common.read_text().strip() if common.is_file() else git
        return _commit_of(shared, head.removeprefix("ref: "))
    except (OSError, ValueError):
        return ""


def _commit_of(git: Path, ref: str) -> str:
    """The commit that a branch is at: in a file of its own, or in that of all."""
    if (git / ref).is_file():
        commit = (git / ref).read_text().strip()
    else:
        lines = (git / "packed-refs").read_text().splitlines()
        commit = next((line.partition(" ")[0] for line in lines if line.endswith(f" {ref}")), "")
    return commit if _COMMIT.fullmatch(commit) else ""
