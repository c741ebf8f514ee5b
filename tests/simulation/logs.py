"""The roles' logs: an error that no fault of the simulation explains is a violation, even if a later pass succeeds."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from orders.engine.agent_host import call
from orders.engine.runtime import isolation
from orders.engine.runtime.sql import is_database_trouble
from orders.engine.scheduler import role
from tests.simulation.kernel import Violation


class StrictLog:
    """A module's log."""

    def __init__(self, log: Any) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def exception(self, event: str, **context: Any) -> None:
        """Raises `Violation`, unless the database was in trouble."""
        error = sys.exception()
        if not isinstance(error, Exception) or not is_database_trouble(error):
            raise Violation(f"rule 11: {event}: {error!r}, {context}") from error
        self._log.exception(event, **context)


@contextmanager
def strict_logs() -> Iterator[None]:
    """Watches the logs of those who go on after an error."""
    with ExitStack() as stack:
        for module in (isolation, role, call):
            stack.enter_context(patch.object(module, "log", StrictLog(module.log)))
        yield
