"""Notices that cannot be left to the database, because it, or the web, is what has failed.

All processes of one machine share a file in `VAR_DIR`, so that operators are told once, and once that it is over.
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

import structlog
from django.conf import settings

from orders.outbox.content import Content, Email, WebhookCall
from orders.outbox.delivery import deliver
from sasweb.mail_server import NotSentError

log = structlog.get_logger()

TOLERANCE = 25.0
"""Seconds that a failure must last before operators are told: a server that restarts is back by then."""


class Notice:
    """One kind of failure. `note` it at each look while it lasts, and `clear` it at each look at which all is well."""

    def __init__(self, name: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._began: float | None = None
        self._told: set[str] = set()
        """The channels by which this process has told of the present failure."""
        self._unkept: set[str] = set()
        """Those of them that the file does not name, because it could not be written."""

    @property
    def _file(self) -> Path:
        return Path(settings.CONFIG.var_dir) / f"{self._name}.told"

    def note(self, problem: str) -> None:
        """Notes that the failure lasts, and tells operators by every channel that has not told them yet."""
        if self._began is None:
            self._began = self._clock()
        if self._clock() - self._began >= TOLERANCE:
            self._tell(problem, is_over=False)

    def clear(self) -> None:
        """Notes that all is well, and tells those that were told of the failure."""
        self._began = None
        # Without a file nobody was told, or another process has told them that it is over.
        if self._file.exists() or self._unkept:
            self._tell("it works again", is_over=True)
        self._told.clear()

    def _tell(self, problem: str, *, is_over: bool) -> None:
        contents = _contents(self._name, problem)
        try:
            with self._file.open("a+") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                channels_kept = _read(file)
                channels_told = channels_kept | self._unkept
                for channel, content in contents.items():
                    # A process that has told says it no second time when another one, which is well, has said that
                    # it is over. Otherwise they would contradict each other at every look.
                    is_told = channel in channels_told or (not is_over and channel in self._told)
                    if is_told is is_over and self._deliver(channel, content, is_over=is_over):
                        channels_told ^= {channel}
                if not channels_told:
                    self._file.unlink(missing_ok=True)
                elif channels_told != channels_kept:
                    self._unkept = channels_told  # in case the file loses what it had
                    file.truncate(0)
                    file.write(json.dumps(sorted(channels_told)))
                    file.flush()
                self._unkept = set()
        except BlockingIOError:  # another process is telling them
            return
        except OSError as error:  # such as a disk without room, which may be the very failure
            log.warning("notice not kept", action="tell", about=self._name, error=str(error))
            for channel, content in contents.items():
                is_due = channel in self._unkept if is_over else channel not in self._told
                if is_due:
                    self._deliver(channel, content, is_over=is_over)

    def _deliver(self, channel: str, content: Content, *, is_over: bool) -> bool:
        host = urlsplit(settings.CONFIG.public_url).hostname or "localhost"
        message_id = f"{self._name}-{datetime.now(UTC):%Y%m%d%H%M%S}-{os.getpid()}@{host}"
        try:
            deliver(content, message_id=message_id)
        except NotSentError as error:
            log.warning("notice not delivered", action="tell", about=self._name, error=str(error))
            return False
        if is_over:
            self._unkept.discard(channel)
        else:
            self._told.add(channel)
            self._unkept.add(channel)  # until it is kept
        log.error("notice", action="tell", about=self._name)
        return True


def _read(file: TextIO) -> set[str]:
    """The channels by which operators have been told. A file that cannot be read says nothing."""
    file.seek(0)
    try:
        return set(json.loads(file.read() or "[]"))
    except ValueError:
        return set()


def _contents(name: str, problem: str) -> Mapping[str, Content]:
    """What each channel says."""
    config = settings.CONFIG
    text = f"sasweb: {name}: {problem}"
    contents: dict[str, Content] = {}
    if config.alert_email:
        body = f"{problem}\n\nTold by a process at {config.public_url}, without the database.\n"
        contents["email"] = Email(recipient=config.alert_email, subject=text, body=body)
    if config.alert_webhook_url:
        body_of_call = {"text": text, "kind": "stalled", "code": name, "url": config.public_url}
        contents["webhook"] = WebhookCall(url=config.alert_webhook_url, body=body_of_call)
    return contents
