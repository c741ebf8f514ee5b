"""`VAR_DIR` is for its owner alone: it holds the secret key, the demonstration's passwords and the ledger's emails."""

import os
from pathlib import Path

from sasweb.launcher.launch import LaunchError

FOR_OTHERS = 0o077
"""The bits of a mode that are not the owner's."""


def make_private(folder: Path, *, has_server: bool) -> None:
    """Takes away what other users may do in this folder, and with the files in it.

    Root has an embedded PostgreSQL server run by another user, who must get to his own folder in it. Then others can
    pass through, too, but list nothing and read nothing. Raises `LaunchError` when other users have access and the
    folder holds other folders than the server's, so that it is not only ours.
    """
    postgres = folder / "postgres"
    others = [path for path in folder.iterdir() if path.is_dir() and path != postgres]
    if others and folder.stat().st_mode & FOR_OTHERS & ~0o011:
        raise LaunchError(
            f"VAR_DIR={folder} can be read by other users, and also holds the folder {others[0].name}:"
            f" run `chmod 700 {folder}`, or set VAR_DIR to a folder of its own"
        )
    is_passed_through = has_server and os.geteuid() == 0 and not postgres.is_symlink()
    try:
        folder.chmod(0o711 if is_passed_through else 0o700)
        for path in folder.iterdir():
            if path.is_file() and not path.is_symlink():
                path.chmod(path.stat().st_mode & ~FOR_OTHERS)
    except PermissionError as error:
        raise LaunchError(
            f"VAR_DIR={folder} belongs to another user: start as that user, or set another VAR_DIR"
        ) from error
