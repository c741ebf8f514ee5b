"""Virtual environments in the temporary folder, for benchmarks that need other packages than the project's."""

import subprocess
import tempfile
import venv
from functools import cache
from pathlib import Path


@cache
def python_with(name: str, *install: str) -> str:
    """The Python of the environment of this name, which is created if there is none; `install` is what pip gets."""
    place = Path(tempfile.gettempdir()) / f"sasweb-bench-{name}"
    python = place / "bin" / "python"
    if not (place / "complete").exists():
        venv.create(place, clear=True, with_pip=True)
        subprocess.run(
            [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *install], check=True
        )
        (place / "complete").touch()
    return str(python)
