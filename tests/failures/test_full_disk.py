"""The disk of the database is full, under load; every order ends correctly once there is room."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import psycopg
import pytest
from pytest_django import DjangoDbBlocker

from orders.models import Event
from tests.support.own_database import OwnDatabase, own_database
from tests.support.system import System
from tests.support.wait import until


def _small_disk(folder: Path) -> bool:
    if os.geteuid() != 0:
        return False
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=220m,mode=0711", "none", str(folder)],
        capture_output=True,
        check=False,
    )
    return mounted.returncode == 0


@pytest.mark.pattern("T1", "C9", "F24")
def test_a_full_disk_loses_no_order(django_db_blocker: DjangoDbBlocker, tmp_path: Path) -> None:
    """Meanwhile nothing is accepted and nothing moves; the server may even stop. With free space, all goes on."""
    disk = Path("/tmp") / f"sasweb-disk-{os.getpid()}"
    disk.mkdir(mode=0o711)
    if not _small_disk(disk):
        disk.rmdir()
        pytest.skip("needs the right to mount a small disk")
    try:
        with (
            django_db_blocker.unblock(),
            own_database(home=disk / "home", settings={"max_wal_size": "64MB"}) as database,
        ):
            _fill_and_free(database, disk, System(tmp_path, DATABASE_URL=database.url))
    finally:
        subprocess.run(["umount", str(disk)], check=False)
        shutil.rmtree(disk, ignore_errors=True)


def _fill_and_free(database: OwnDatabase, disk: Path, system: System) -> None:
    try:
        system.start_all()
        system.place(6)
        until(lambda: Event.objects.count() > 12, what="work under way")
        ballast = disk / "ballast"
        refused = 0
        # unbuffered: closing the file would otherwise write the buffer and fail
        with ballast.open("wb", buffering=0) as file:
            while not refused:
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"0" * 65_536)
                try:
                    with psycopg.connect(database.server.url, autocommit=True) as session:
                        session.execute("CREATE TABLE IF NOT EXISTS filler AS SELECT 'x' AS t")
                        session.execute(
                            "INSERT INTO filler SELECT repeat('y', 500) FROM generate_series(1, 20000)"
                        )
                except psycopg.Error:
                    refused += 1
        ballast.unlink()
        database.start_if_down()
        database.act("DROP TABLE IF EXISTS filler")
        assert set(system.wait_until_ended()) == {"processed"}
        system.check()
    finally:
        system.end()
