"""The process manager restarts processes that die, stops them in order, and leaves no orphan, however it ends."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sasweb.launcher import children
from sasweb.launcher.children import Deaths
from sasweb.launcher.log_lines import Output
from tests.launcher.helpers import is_alive, line_with, python, wait_for

STUBBORN = "trap '' TERM; echo pid $$; while :; do sleep 1; done"
OBEDIENT = "trap 'echo stops; exit 0' TERM; echo pid $$; while :; do sleep 0.05; done"


def sh(name: str, script: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "argv": ["sh", "-c", script], **more}


@contextmanager
def managed(*specs: dict[str, Any], **env: str) -> Iterator[subprocess.Popen[str]]:
    with python("-m", "tests.launcher.managed", json.dumps(specs), env=env) as manager:
        try:
            yield manager
        finally:
            manager.terminate()


def pids_of(manager: subprocess.Popen[str], *names: str) -> dict[str, int]:
    """The pids that these children print, in whatever order."""
    pids: dict[str, int] = {}
    while len(pids) < len(names):
        match = re.search(r"(\w+) +\| pid (\d+)", line_with(manager, "| pid"))
        assert match
        pids[match[1]] = int(match[2])
    assert set(pids) == set(names)
    return pids


def pid_of(manager: subprocess.Popen[str], name: str) -> int:
    """The pid that the only child prints next."""
    return pids_of(manager, name)[name]


def rest_of(manager: subprocess.Popen[str]) -> list[str]:
    assert manager.stdout
    return manager.stdout.read().splitlines()


def test_a_dead_child_is_restarted_at_once() -> None:
    with managed(sh("worker", OBEDIENT)) as manager:
        first = pid_of(manager, "worker")
        os.kill(first, signal.SIGKILL)
        assert "was killed by SIGKILL; restarting it now" in line_with(manager, "worker was")
        assert pid_of(manager, "worker") != first


def test_only_a_third_quick_death_causes_a_pause() -> None:
    deaths = Deaths()
    assert [deaths.count(lived=1) for _ in range(7)] == [0, 0, 1, 2, 4, 5, 5]
    assert deaths.count(lived=11) == 0
    assert [deaths.count(lived=1) for _ in range(3)] == [0, 0, 1]


def test_a_child_that_keeps_dying_is_restarted_with_pauses() -> None:
    with managed(sh("worker", "exit 3")) as manager:
        lines = [line_with(manager, "worker ended") for _ in range(4)]
    assert ["it now" in line for line in lines] == [True, True, False, False]
    assert "ended with exit status 3; restarting it in 1 s" in lines[2]


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_children_stop_in_order_and_the_foundation_last(signum: signal.Signals) -> None:
    foundation = sh("database", OBEDIENT, is_foundation=True)
    with managed(foundation, sh("web", OBEDIENT), sh("worker", OBEDIENT)) as manager:
        pids_of(manager, "database", "web", "worker")
        os.killpg(manager.pid, signum)  # as a terminal does: only the manager may be in its group
        stops = [line.split()[0] for line in rest_of(manager) if "stops" in line]
        assert stops == ["web", "worker", "database"]
        assert manager.wait(timeout=60) == 0


def test_a_slow_child_is_asked_with_the_first_and_awaited_in_its_turn(tmp_path: Path) -> None:
    web = "trap 'until [ -e asked ]; do sleep 0.05; done; exit 0' TERM; echo pid $$; while :; do sleep 0.05; done"
    jobs = "trap 'touch asked; exit 0' TERM; echo pid $$; while :; do sleep 0.05; done"
    specs = (
        sh("web", f"cd '{tmp_path}'; {web}"),
        sh("jobs", f"cd '{tmp_path}'; {jobs}", stops_slowly=True),
    )
    with managed(*specs, KILL_AFTER="3600", NEXT_IN_ORDER="3600") as manager:
        pids_of(manager, "web", "jobs")
        manager.terminate()
        assert manager.wait(timeout=60) == 0


def test_a_stop_ends_soon_even_if_no_child_obeys() -> None:
    specs = [sh(name, STUBBORN) for name in ("web", "submission", "scheduler", "agents", "jobs", "sandbox")]
    with managed(sh("database", STUBBORN, is_foundation=True), *specs) as manager:
        pids = pids_of(manager, "database", *(spec["name"] for spec in specs))
        manager.terminate()
        manager.communicate(timeout=60)
        assert not any(is_alive(pid) for pid in pids.values())


def test_a_second_ctrl_c_kills_at_once() -> None:
    deaf = sh("web", "trap 'echo was told' TERM; echo pid $$; while :; do sleep 0.05; done")
    with managed(deaf, KILL_AFTER="3600") as manager:
        pid = pid_of(manager, "web")
        manager.send_signal(signal.SIGINT)
        line_with(manager, "was told")
        manager.send_signal(signal.SIGINT)
        manager.wait(timeout=60)
        assert not is_alive(pid)


def test_a_killed_manager_leaves_no_orphan() -> None:
    pipe = "echo pid $$; read -r line; echo the pipe has closed"
    with managed(sh("web", STUBBORN), sh("jobs", pipe, has_pipe=True, death_signal=None)) as manager:
        pids = pids_of(manager, "web", "jobs")
        manager.kill()
        wait_for(lambda: not any(is_alive(pid) for pid in pids.values()))


def test_the_orphans_of_a_dead_child_are_killed() -> None:
    with managed(sh("web", "setsid sleep 60 & echo pid $$ and $!; wait")) as manager:
        pid, orphan = map(int, re.findall(r"\d+", line_with(manager, "web | pid")))
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not is_alive(orphan))


def test_a_reader_that_pauses_does_not_stop_the_children() -> None:
    chatty = "i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); echo a line that nobody reads, number $i of them; done; "
    with managed(sh("chatty", f"{chatty} exec sleep 60")) as manager:
        wait_for(lambda: "sleep" in names_of_children(manager.pid))
        manager.terminate()
        assert any("lines dropped here" in line or "chatty" in line for line in rest_of(manager))


def test_a_reader_that_goes_away_does_not_stop_the_children() -> None:
    chatty = "while :; do echo pid $$; sleep 0.01; done"
    with managed(sh("chatty", chatty)) as manager:
        pid = pid_of(manager, "chatty")
        assert manager.stdout
        manager.stdout.close()
        with pytest.raises(subprocess.TimeoutExpired):
            manager.wait(timeout=0.5)
        assert is_alive(pid)


def names_of_children(pid: int) -> set[str]:
    return {stat.name for stat in children.processes() if stat.parent == pid}


def test_a_last_line_without_a_newline_is_shown() -> None:
    with managed(sh("web", "printf 'last words'; exit 0")) as manager:
        assert line_with(manager, "last words") == "web | last words"


def test_output_to_a_file_has_no_colours_and_is_aligned() -> None:
    reader, writer = os.pipe()
    output = Output(writer)
    output.expect(["web.1", "submission.1"])
    output.line("web.1", "one")
    output.line("submission.1", b"two")
    output.plain("API token: three")
    output.flush()
    os.close(writer)
    with os.fdopen(reader) as written:
        assert written.read() == "web.1        | one\nsubmission.1 | two\nAPI token: three\n"


def test_on_a_terminal_names_are_coloured_and_ctrl_c_reaches_only_the_manager() -> None:
    ours, theirs = os.openpty()
    specs = json.dumps([sh("web", OBEDIENT)])
    attach = "import fcntl, os, sys, termios; fcntl.ioctl(1, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
    manager = python(
        "-c", attach, sys.executable, "-m", "tests.launcher.managed", specs, stdin=theirs, stdout=theirs
    )
    os.close(theirs)
    seen = b""
    with manager, os.fdopen(ours, "r+b", buffering=0) as terminal:
        while b"pid" not in seen:
            seen += terminal.read(1024)
        terminal.write(b"\x03")
        assert manager.wait(timeout=60) == 0
        seen += terminal.read(4096)
    assert b"\x1b[36mweb | \x1b[0mpid" in seen
    assert seen.count(b"stops") == 1
    assert b"was killed by SIGINT" not in seen
