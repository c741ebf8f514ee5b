"""A cluster that has lost a process or stands still is replaced as a whole, and none of it outlives the watch."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sasweb.launcher import children
from sasweb.launcher.jobs_watch import SignAge
from tests.launcher.helpers import is_alive, line_with, python, wait_for

SWEEP = datetime(2025, 1, 1, tzinfo=UTC)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    database = tmp_path / "database"
    database.write_text("sweeping")
    return database


@contextmanager
def watched(
    database: Path, behaviour: str = "obedient", *more: str, stdin: int = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[str]]:
    with python("-m", "tests.launcher.watched", str(database), behaviour, *more, stdin=stdin) as watch:
        try:
            yield watch
        finally:
            watch.terminate()


def pid_of(watch: subprocess.Popen[str], role: str) -> int:
    """The pid that the next process with this role prints."""
    return int(line_with(watch, f"{role} ").split()[-1])


def has_seen(watch: subprocess.Popen[str], pid: int) -> bool:
    """Whether the watch holds a pidfd of the process."""
    entries = []
    for info in Path(f"/proc/{watch.pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the watch closes others at the same time
            entries.append(info.read_text())
    return any(f"Pid:\t{pid}\n" in text for text in entries)


@pytest.mark.parametrize("role", ["cluster", "worker"])
def test_a_killed_process_makes_a_new_group_at_once(database: Path, role: str) -> None:
    with watched(database) as watch:
        cluster = pid_of(watch, "cluster")
        worker = pid_of(watch, "worker")
        wait_for(lambda: has_seen(watch, worker))
        os.kill(cluster if role == "cluster" else worker, signal.SIGKILL)
        assert "replacing the first cluster now" in line_with(watch, "replacing")
        assert not children.group_members(cluster)
        assert pid_of(watch, "cluster") != cluster


def test_a_worker_that_ends_normally_is_left_to_the_cluster(database: Path) -> None:
    with watched(database) as watch:
        cluster = pid_of(watch, "cluster")
        workers = [pid_of(watch, "worker"), pid_of(watch, "worker")]
        wait_for(lambda: has_seen(watch, workers[0]))
        os.kill(workers[0], signal.SIGUSR2)
        assert pid_of(watch, "worker") not in workers
        assert is_alive(cluster)
        assert is_alive(workers[1])


def test_a_cluster_that_no_longer_sweeps_is_replaced(database: Path) -> None:
    with watched(database, "obedient", "--impatient") as watch:
        first = pid_of(watch, "cluster")
        database.write_text("still")
        assert "no supervisor has swept for 20 s; replacing the first cluster" in line_with(
            watch, "replacing"
        )
        assert pid_of(watch, "cluster") != first


def test_a_killed_process_of_one_cluster_leaves_the_other_one_working(database: Path) -> None:
    with watched(database, "obedient", "--two") as watch:
        victim, other = (pid_of(watch, "cluster") for _ in range(2))
        wait_for(lambda: len(children.group_members(other)) == 3)
        members = {stat.pid for stat in children.group_members(other)}
        os.kill(victim, signal.SIGKILL)
        line_with(watch, "replacing the")
        assert pid_of(watch, "cluster") not in (victim, other)
        assert {stat.pid for stat in children.group_members(other)} == members


def test_only_the_cluster_that_stands_still_is_replaced(database: Path) -> None:
    with watched(database, "obedient", "--impatient", "--two") as watch:
        clusters = [pid_of(watch, "cluster") for _ in range(2)]
        database.write_text("still")
        assert "replacing the first cluster" in line_with(watch, "replacing")
        clusters.append(pid_of(watch, "cluster"))
        assert [is_alive(cluster) for cluster in clusters].count(True) == 2


def test_a_stop_notifies_the_jobs_and_then_the_cluster(database: Path) -> None:
    with watched(database) as watch:
        pid_of(watch, "worker")
        pid_of(watch, "worker")
        watch.terminate()
        line_with(watch, "a job was told to stop")
        assert watch.wait(timeout=60) == 0


@pytest.mark.parametrize("behaviour", ["obedient", "stubborn"])
def test_a_stop_leaves_no_process_even_of_a_cluster_that_does_not_stop(
    database: Path, behaviour: str
) -> None:
    with watched(database, behaviour) as watch:
        cluster = pid_of(watch, "cluster")
        pid_of(watch, "worker")
        watch.terminate()
        assert watch.wait(timeout=60) == 0
        assert not children.group_members(cluster)


def test_the_end_of_the_pipe_ends_the_group_at_once(database: Path) -> None:
    with watched(database, "stubborn", "--pipe", stdin=subprocess.PIPE) as watch:
        cluster = pid_of(watch, "cluster")
        pid_of(watch, "worker")
        assert watch.stdin
        watch.stdin.close()
        assert watch.wait(timeout=60) == 0
        assert not children.group_members(cluster)


def test_a_killed_watch_takes_the_whole_cluster_with_it(database: Path) -> None:
    with watched(database) as watch:
        cluster = pid_of(watch, "cluster")
        wait_for(lambda: len(children.group_members(cluster)) == 3)
        watch.kill()
        wait_for(lambda: not children.group_members(cluster))


def test_sweeps_are_stale_when_the_answer_has_not_changed_for_too_long() -> None:
    age = SignAge(stale_after=20, grace=30)
    age.note_answer(SWEEP, now=0)
    assert not age.is_stale(now=30)
    assert age.is_stale(now=31)
    age.note_answer(SWEEP + timedelta(seconds=2), now=31)
    assert not age.is_stale(now=51)
    assert age.is_stale(now=52)


def test_a_clock_that_is_hours_off_does_not_matter() -> None:
    age = SignAge(stale_after=20, grace=30)
    age.note_answer(SWEEP, now=0)
    age.note_answer(SWEEP - timedelta(hours=5), now=10)
    assert not age.is_stale(now=30)
    assert age.is_stale(now=31)


def test_an_unreachable_database_never_makes_a_cluster_stale() -> None:
    age = SignAge(stale_after=20, grace=30)
    age.note_answer(SWEEP, now=0)
    age.note_silence()
    assert not age.is_stale(now=3_600)
    age.note_answer(SWEEP, now=3_600)
    assert not age.is_stale(now=3_630)
    assert age.is_stale(now=3_631)


def test_a_cluster_is_left_alone_while_the_database_is_down(database: Path) -> None:
    with watched(database, "obedient", "--impatient") as watch:
        cluster = pid_of(watch, "cluster")
        database.write_text("down")
        wait_for(lambda: len(children.group_members(cluster)) == 3)
        assert not children.wait_until(lambda: not is_alive(cluster), timeout=2.5)
