"""The health of the roles: heartbeats, and the alerts about a role or a release instead of an order (rule 11).

Every process of a role records every few seconds that it is alive, which release and workflows it runs, and what is
wrong with it.
Operators get one alert for each trouble, however many processes have it, and the alert is closed once no live process
has it any more.
"""

import json
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import structlog
from django.conf import settings
from django.db import Error, connection, transaction

from orders.engine import alerts
from orders.engine.contracts import Workflows
from orders.engine.runtime.isolation import RETRY_CAP, Cause
from orders.engine.runtime.sql import run
from orders.engine.runtime.text import first_line
from orders.vocabulary import ActorKind, AlertKind

log = structlog.get_logger()

PERIOD = 5.0
"""Seconds between two heartbeats."""
ALIVE = 15.0
"""Seconds without a heartbeat after which a process no longer counts. A pass may take 5 s."""
FORGOTTEN = 600.0
"""Seconds without a heartbeat after which a process is taken off the list, by the next one that starts."""
FAST_ENOUGH = "the queue is fast enough again"
"""How the trouble of orders that would be late is resolved."""
WORKS_AGAIN = "it works again"
"""How any other trouble is resolved."""
NO_PROGRESS = 60.0
"""Seconds without a completed pass after which operators are told."""


class Trouble(NamedTuple):
    """What is wrong with a role, or with a version of a workflow, named by `subject`; `code` names the cause."""

    kind: AlertKind
    subject: str
    code: str
    message: str


class RoleHealth:
    """The health of one process of a role.

    `instance` is its id, `troubles` gives what is wrong with it now, and `workflows` what it runs.
    """

    def __init__(
        self,
        *,
        role: str,
        instance: str,
        troubles: Callable[[], Sequence[Trouble]] = lambda: (),
        workflows: Callable[[], Workflows] = dict,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._role = role
        self._instance = instance
        self._troubles = troubles
        self._workflows = workflows
        self._clock = clock
        self._progressed_at = clock()
        self._error: Exception | None = None
        self._is_slow = False
        self._beat_at = 0.0
        self.failure: Exception | None = None
        """Why the last heartbeat could not be written; None if it was."""
        self._reported: tuple[set[tuple[str, str, str]], list[list[Any]]] | None = None

    def note_pass(self) -> None:
        """Notes that a pass was completed."""
        self._progressed_at = self._clock()
        self._error = None

    def note_failure(self, error: Exception, *, is_slow: bool) -> None:
        """Notes that a pass ended with an error that is not about an order; `is_slow` if it took too long."""
        self._error, self._is_slow = error, is_slow

    def beat(self) -> None:
        """Records the process's health, if that is due or has changed. A failure to do so is only logged."""
        troubles = [*self._troubles(), *self._own_troubles()]
        keys = {(trouble.kind.value, trouble.subject, trouble.code) for trouble in troubles}
        versions = [
            [name, version, workflow.fingerprint] for (name, version), workflow in self._workflows().items()
        ]
        now = self._clock()
        has_news = (keys, versions) != self._reported and self.failure is None
        if not has_news and now - self._beat_at < PERIOD:
            return
        self._beat_at = now
        try:
            with transaction.atomic():
                if self._reported is None:
                    _delete_forgotten()
                self._write(keys, versions, now)
                alerts.open_alerts(
                    [
                        alerts.NewAlert(
                            None,
                            trouble.kind.value,
                            trouble.code,
                            trouble.message,
                            agent=trouble.subject if trouble.kind is AlertKind.LATE else "",
                            subject=trouble.subject,
                        )
                        for trouble in troubles
                    ]
                )
                close_resolved(by=f"the {self._role}")
        except Error as error:
            log.warning("health not reported", action="heartbeat", error=first_line(error))
            self.failure = error
            connection.close()
            return
        self._reported = keys, versions
        self.failure = None

    def forget(self) -> None:
        """Takes this process off the list, when it stops."""
        try:
            run("DELETE FROM orders_roleinstance WHERE instance = %s", [self._instance])
        except Error as error:
            log.warning("still listed", action="stop", error=first_line(error))

    def _own_troubles(self) -> list[Trouble]:
        if self._clock() - self._progressed_at < NO_PROGRESS:
            return []
        code = "no_progress"
        if self._error is None:
            reason = "and has met no error: it hangs, and a restart is safe"
        elif self._is_slow:
            code, reason = "slow", f"because the database is slow: {first_line(self._error)}"
        else:
            reason = f"because of an error: {first_line(self._error)}"
        message = f"the {self._role} has completed no pass for more than a minute, {reason}"
        return [Trouble(AlertKind.STALLED, str(self._role), code, message)]

    def _write(
        self, keys: Collection[tuple[str, str, str]], versions: Sequence[Sequence[Any]], now: float
    ) -> None:
        run(
            """
            INSERT INTO orders_roleinstance (instance, role, release, versions, troubles, progressed_at)
            VALUES (%s, %s, %s, %s::jsonb, %s::jsonb, clock_timestamp() - %s * interval '1 second')
                ON CONFLICT (instance) DO UPDATE
               SET versions = excluded.versions,
                   troubles = excluded.troubles,
                   progressed_at = excluded.progressed_at,
                   seen_at = clock_timestamp()
            """,
            [
                self._instance,
                str(self._role),
                settings.CONFIG.release,
                json.dumps(versions),
                json.dumps(
                    [dict(zip(("kind", "subject", "code"), key, strict=True)) for key in sorted(keys)]
                ),
                now - self._progressed_at,
            ],
        )


def _delete_forgotten() -> None:
    """Deletes the rows of processes that ended without taking themselves off the list.

    Safe beside others: rows that another process is deleting or writing are locked, so they are skipped.
    """
    run(
        """
        DELETE FROM orders_roleinstance
         WHERE instance = ANY(ARRAY(
                   SELECT instance
                     FROM orders_roleinstance
                    WHERE seen_at < clock_timestamp() - %s * interval '1 second'
                      FOR UPDATE SKIP LOCKED
               ))
        """,
        [FORGOTTEN],
    )


def release_troubles(role: ActorKind, causes: Sequence[Cause]) -> list[Trouble]:
    """What to tell operators about errors that are the release's fault, and not an order's. Pure."""
    return [
        _slow_trouble(role, cause) if cause.is_slow else _release_trouble(role, cause) for cause in causes
    ]


def _slow_trouble(role: ActorKind, cause: Cause) -> Trouble:
    message = (
        f"the {role} cannot handle {next(iter(cause.orders))} in the time that a transaction may last, and tries it "
        f"again at least every {RETRY_CAP:.0f} s: {cause.text}"
    )
    return Trouble(AlertKind.STALLED, role.value, "slow_order", message)


def _release_trouble(role: ActorKind, cause: Cause) -> Trouble:
    if cause.stops:
        message = (
            f"a {role} process has stopped, because every order fails with the same error: {cause.text}. No order is "
            f"set aside. It tries one again at least every {RETRY_CAP:.0f} s, and goes on when that works"
        )
    else:
        message = (
            f"different orders fail in the {role} with the same error: {cause.text}. They wait, "
            f"{next(iter(cause.orders))} among them, and the other orders go on. One of them is tried again at least "
            f"every {RETRY_CAP:.0f} s"
        )
    return Trouble(AlertKind.RELEASE, role.value, cause.code[:60], message)


def close_resolved(*, by: str) -> int:
    """Closes the alerts about roles and workflows whose trouble no live process has; returns how many."""
    return run(
        """
        UPDATE orders_alert AS alert
           SET closed_at = clock_timestamp(),
               closed_by = %s,
               resolution = CASE WHEN kind = %s THEN %s ELSE %s END
         WHERE alert.order_id IS NULL
           AND alert.subject <> ''
           AND alert.closed_at IS NULL
           AND NOT EXISTS (
                   SELECT 1
                     FROM orders_roleinstance AS instance
                    WHERE instance.seen_at > clock_timestamp() - %s * interval '1 second'
                      AND instance.troubles @> jsonb_build_array(jsonb_build_object(
                              'kind', alert.kind, 'subject', alert.subject, 'code', alert.code))
               )
        """,
        [by, AlertKind.LATE, FAST_ENOUGH, WORKS_AGAIN, ALIVE],
    )
