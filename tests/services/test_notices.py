"""A notice goes to operators directly: once for all processes, and once more when all is well again (O1)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orders.watchdog.notices import TOLERANCE, Notice
from tests.support.clock import Clock
from tests.support.webhook import Webhook

pytestmark = [pytest.mark.django_db, pytest.mark.pattern("O1")]


def test_a_short_failure_is_not_told(clock: Clock, hook: Webhook) -> None:
    notice = Notice("database", clock=clock)
    for _ in range(5):
        notice.note("the database does not answer")
        clock.now += TOLERANCE - 1
        notice.clear()
    assert hook.received == []


def test_a_notice_that_was_not_delivered_is_tried_again(clock: Clock, hook: Webhook) -> None:
    notice = Notice("database", clock=clock)
    hook.status = 500
    notice.note("the database does not answer")
    clock.now += TOLERANCE
    notice.note("the database does not answer")
    hook.status = 200
    notice.note("the database does not answer")
    notice.note("the database does not answer")
    assert len(hook.received) == 2


def test_a_process_that_starts_during_a_failure_tells_only_that_it_is_over(
    clock: Clock, hook: Webhook
) -> None:
    first, second = Notice("web", clock=clock), Notice("web", clock=clock)
    first.note("the web does not answer")
    second.note("the web does not answer")
    clock.now += TOLERANCE
    first.note("the web does not answer")
    second.note("the web does not answer")
    second.clear()
    first.clear()
    assert [call["text"] for call in hook.received] == [
        "sasweb: web: the web does not answer",
        "sasweb: web: it works again",
    ]


def test_a_disk_without_room_does_not_keep_a_notice_back(clock: Clock, hook: Webhook, settings: Any) -> None:
    """What cannot be remembered is told by each process that sees it, once, and so is that it is over."""
    settings.CONFIG = replace(settings.CONFIG, var_dir=Path("/proc/no-room"))
    notice = Notice("database", clock=clock)
    for _ in range(3):
        notice.note("the database has no room left")
        clock.now += TOLERANCE
    assert [call["text"] for call in hook.received] == ["sasweb: database: the database has no room left"]
    for hook.status in (500, 200, 200):
        notice.clear()
    assert [call["text"] for call in hook.received[1:]] == ["sasweb: database: it works again"] * 2


def test_a_notice_that_was_not_kept_at_first_is_kept_once_there_is_room(
    clock: Clock, hook: Webhook, settings: Any, tmp_path: Path
) -> None:
    settings.CONFIG = replace(settings.CONFIG, var_dir=Path("/proc/no-room"))
    notice, other = Notice("database", clock=clock), Notice("database", clock=clock)
    for var_dir in ("/proc/no-room", "/proc/no-room", tmp_path):
        settings.CONFIG = replace(settings.CONFIG, var_dir=Path(var_dir))
        notice.note("the database has no room left")
        clock.now += TOLERANCE
    for each in (other, notice, other):
        each.clear()
    assert [call["text"] for call in hook.received] == [
        "sasweb: database: the database has no room left",
        "sasweb: database: it works again",
    ]


def test_a_failure_that_only_one_process_meets_is_told_once_and_told_over_once(
    clock: Clock, hook: Webhook
) -> None:
    """The others reach the database, say because few connections are left, and every look of theirs finds it well."""
    failing, well = Notice("database", clock=clock), Notice("database", clock=clock)
    failing.note("the database takes no more connections")
    for _ in range(4):
        clock.now += TOLERANCE
        failing.note("the database takes no more connections")
        well.clear()
    failing.clear()
    assert [call["text"] for call in hook.received] == [
        "sasweb: database: the database takes no more connections",
        "sasweb: database: it works again",
    ]


def test_a_file_that_cannot_be_read_counts_as_empty(clock: Clock, hook: Webhook, tmp_path: Path) -> None:
    (tmp_path / "database.told").write_text("[")
    notice = Notice("database", clock=clock)
    notice.note("the database does not answer")
    clock.now += TOLERANCE
    notice.note("the database does not answer")
    assert len(hook.received) == 1
