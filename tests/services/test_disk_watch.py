"""Operators are told of a disk that is nearly full while the database still takes writes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orders.models import Alert
from orders.watchdog.disks import PERIOD, DiskWatch, Room
from orders.watchdog.watch import Watch
from sasweb.environment import GIGABYTE
from tests.support.clock import Clock

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]
LARGE = 1_000_000 * GIGABYTE


@pytest.mark.parametrize(
    ("whole", "free", "was_scarce", "is_scarce"),
    [
        (40, 4.0, False, False),
        (40, 3.9, False, True),
        (40, 4.7, True, True),
        (40, 4.8, True, False),
        (2_000, 10.1, False, False),
        (2_000, 9.9, False, True),
        (2_000, 11.9, True, True),
        (40, -1, False, True),
    ],
)
def test_a_tenth_is_to_be_free_or_ten_gigabytes_and_a_fifth_more_once_it_was_scarce(
    whole: float, free: float, was_scarce: bool, is_scarce: bool
) -> None:
    room = Room(whole * GIGABYTE, free * GIGABYTE)
    assert room.is_scarce(was_scarce=was_scarce) is is_scarce


def test_what_is_left_is_named_in_gigabytes_and_never_less_than_nothing() -> None:
    assert str(Room(1_500 * GIGABYTE, 1.25 * GIGABYTE)) == "1.2 of 1,500.0 GB left"
    assert str(Room(GIGABYTE, -5)) == "0.0 of 1.0 GB left"


def test_the_size_of_the_database_is_compared_with_its_room_once_a_minute(
    clock: Clock, tmp_path: Path
) -> None:
    def watch(database_room: float) -> DiskWatch:
        return DiskWatch(folder=tmp_path / "none", database_room=database_room, clock=clock)

    assert watch(0).look() == watch(LARGE).look() == []
    full = watch(1.0)
    (trouble,) = full.look()
    assert (trouble.subject, trouble.code) == ("database", "database_nearly_full")
    assert trouble.message == "the database has 0.0 of 0.0 GB left of DATABASE_ROOM"
    assert full.look() == [trouble]
    clock.now += PERIOD - 1
    assert full.look() == [trouble]


def test_operators_are_told_and_the_system_still_counts_as_well(
    clock: Clock, settings: Any, tmp_path: Path
) -> None:
    settings.CONFIG = replace(settings.CONFIG, database_room=1.0, var_dir=tmp_path)
    watch = Watch(instance="web:a", clock=clock)
    watch.look()
    clock.now += 60
    assert watch.look() == []
    alert = Alert.objects.get(code="database_nearly_full")
    assert (alert.kind, alert.subject, alert.closed_at) == ("stalled", "database", None)
