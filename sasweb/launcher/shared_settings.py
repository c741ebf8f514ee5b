"""The settings of a demonstration, for what is started beside it: `manage.py` in another terminal.

`manage.py up` leaves them in `VAR_DIR`, and `manage.py` takes them for those that its own environment does not set, as
long as that launcher runs. In production nothing is left: there each process has its settings from its own environment.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path

LOCK = "up.lock"
"""The file in `VAR_DIR` that a launcher holds locked while it runs."""
FILE = "up-settings.json"


def share(var_dir: Path, settings: Mapping[str, str]) -> None:
    """Leaves these settings. The caller holds the lock."""
    withdraw(var_dir)
    file = var_dir / FILE
    file.touch(mode=0o600)
    file.write_text(json.dumps(settings))


def withdraw(var_dir: Path) -> None:
    """Takes back what this launcher has left, or one that was killed. The caller holds the lock."""
    (var_dir / FILE).unlink(missing_ok=True)


def adopt(environment: MutableMapping[str, str], *, default_folder: Path) -> None:
    """Adds to an environment what a running launcher has left and it does not set itself."""
    var_dir = Path(environment.get("VAR_DIR", default_folder)).expanduser()
    with contextlib.suppress(OSError):
        if _is_held(var_dir / LOCK):
            for name, value in json.loads((var_dir / FILE).read_text()).items():
                environment.setdefault(name, value)


def _is_held(lock: Path) -> bool:
    file = os.open(lock, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
