"""`python -m tests.advisories`: looks up known vulnerabilities of what the locks install, with pip-audit.

Ends with 1 when there are any. Where the advisory service does not answer, one line says so, and the status is 0: a
machine without a network can run all the tests. Arguments are passed on to pip-audit.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LOCKS = [
    Path(__file__).resolve().parent.parent / name for name in ("requirements.txt", "requirements-tracing.txt")
]
SILENT = "audit: the advisory service does not answer, so known vulnerabilities have not been looked up"
LONGEST = 60.0  # seconds for all packages


def main(arguments: Sequence[str]) -> int:
    """Runs pip-audit and prints what it finds. Returns the exit status."""
    report = audit(arguments)
    lookups = [package for package in report if "vulns" in package]
    if not lookups:
        print(SILENT)
        return 0
    lines = [line for package in lookups for line in _lines(package)]
    skipped = [package["name"] for package in report if "vulns" not in package]
    if skipped:
        lines.append(f"audit: not looked up, because the service does not know them: {', '.join(skipped)}")
    print("\n".join(lines or [f"audit: {len(lookups)} packages have no known vulnerability"]))
    return 1 if lines else 0


def audit(arguments: Sequence[str]) -> list[dict[str, Any]]:
    """pip-audit's report: for each package its `vulns`, or a `skip_reason`. Empty when the service does not answer."""
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        *(f"--requirement={lock}" for lock in LOCKS),
        "--require-hashes",
        "--disable-pip",
    ]
    command += ["--format", "json", "--progress-spinner", "off", "--timeout", "3", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=False)
        report: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        return []
    return report


def _lines(package: dict[str, Any]) -> list[str]:
    """A line for each vulnerability of a package."""
    return [
        f"audit: {package['name']} {package['version']} has {advisory['id']};"
        f" fixed in {', '.join(advisory['fix_versions']) or 'no version yet'}"
        f" (bin/lock --upgrade-package {package['name']})"
        for advisory in package["vulns"]
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
