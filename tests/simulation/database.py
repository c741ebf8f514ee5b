"""The database of a simulation: real PostgreSQL, with the clock of the kernel, which interleaves its sessions.

`clock_timestamp()` and the like are shadowed by functions that read the session's own setting, which goes along with
every statement. Before each statement and each commit the running task pauses, so that others may come between.
"""

import functools
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.backends.signals import connection_created

from orders.engine.channels.wakeups import Topic
from tests.simulation.kernel import Kernel, Task
from tests.simulation.sessions import Sessions

EPOCH = datetime(2030, 1, 1, tzinfo=UTC)
"""What the database's clock says when a simulation starts."""
OPTIONS = "-c search_path=public,pg_catalog -c transaction_timeout=0 -c idle_in_transaction_session_timeout=0"
CLOCKS = ("clock_timestamp", "statement_timestamp", "transaction_timestamp", "now")
SHADOWS = "".join(
    f"""
    CREATE FUNCTION public.{name}() RETURNS timestamptz LANGUAGE sql VOLATILE AS $$
        SELECT coalesce(current_setting('simulation.now', true)::timestamptz, pg_catalog.{name}())
    $$;
    """
    for name in CLOCKS
)
# The server's timers follow the real clock.
SHADOWS += """
    CREATE FUNCTION public.set_config(name text, value text, is_local boolean) RETURNS text LANGUAGE sql VOLATILE AS $$
        SELECT CASE WHEN name IN ('statement_timeout', 'transaction_timeout') THEN value
                    ELSE pg_catalog.set_config(name, value, is_local) END
    $$;
"""
WATCHED = ("orders_orderprocess", "orders_stepstate", "orders_event")
CHANGES = "CREATE UNLOGGED TABLE public.simulation_change (order_id uuid, event_id bigint);" + "".join(
    f"""
    CREATE FUNCTION public.note_{table}() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO public.simulation_change
        SELECT order_id, {"id" if table == "orders_event" else "NULL"} FROM changed;
        RETURN NULL;
    END $$;
    CREATE TRIGGER note_insert AFTER INSERT ON {table} REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION public.note_{table}();
    CREATE TRIGGER note_update AFTER UPDATE ON {table} REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION public.note_{table}();
    """
    for table in WATCHED
)
"""Notes which orders each transaction changes, so that the invariants are checked for those alone."""


class Cut(OperationalError):
    """Raised when the simulation cuts a connection."""


class Database:
    """The simulated database, from the side of the tasks and of the kernel.

    `statement` is how long a statement takes on average, in seconds, and `density` the share of them before which
    others may run. `slowness` multiplies the time that statements take. `commits_to_cut` is how many of the next
    commits are cut, each before or after it happens. `deafness` is the share of wake-ups that are lost.
    """

    def __init__(self, kernel: Kernel, *, url: str, statement: float, density: float) -> None:
        self.slowness = 1.0
        self.commits_to_cut = 0
        self.deafness = 0.0
        self.down_until = -math.inf
        self.on_commit: Callable[[], None] = lambda: None
        self.statements = 0
        self._kernel = kernel
        self._url = url
        self._statement = statement
        self._density = density
        self._ears: list[tuple[Task, Topic, Callable[[], None]]] = []
        self._wakeups: dict[Task, set[Topic]] = {}
        self._writers: set[Task] = set()
        self.monitor = psycopg.connect(url, autocommit=True, options=OPTIONS)
        self.sessions = Sessions(self.monitor)
        self.sessions.halt_log_writer()
        kernel.waits_for_lock = lambda task: self.sessions.waits_for_lock(task.backend)
        kernel.halt_session = lambda task: self.sessions.halt(task.backend)
        kernel.resume_session = lambda task: self.sessions.resume(task.backend)
        kernel.end_session = self.end_session

    def now(self) -> datetime:
        """The kernel's time, as the database tells it."""
        return EPOCH + timedelta(seconds=self._kernel.now)

    def listen(self, task: Task, topic: Topic, hear: Callable[[], None]) -> None:
        """Has `hear` called when somebody wakes the topic, for as long as the task's process lives."""
        self._ears.append((task, topic, hear))

    def end_session(self, task: Task) -> None:
        """Ends the task's session at the server, which rolls its transaction back."""
        if not task.backend:
            return
        self.sessions.end(task.backend)
        task.backend = 0
        self._forget_transaction(task)
        self._kernel.locks_may_be_free = True

    def interleave(self, share: float = 1.0) -> None:
        """Lets others run, for about as long as the statements since the last time have taken."""
        task = self._kernel.current()
        pace = task.pace if task is not None else 1.0
        if self._kernel.chance.random() < self._density * share * pace:
            seconds = self._kernel.chance.expovariate(self._density / self._statement) * self.slowness
            self._kernel.pause(seconds)

    # The hooks

    def on_statement(
        self,
        execute: Callable[..., Any],
        statement: str,
        parameters: Any,
        many: bool,
        context: dict[str, Any],
    ) -> Any:
        """Wraps every statement of Django's cursors."""
        task = self._kernel.current()
        wrapper: BaseDatabaseWrapper = context["connection"]
        if task is None:
            return execute(statement, parameters, many, context)
        self.interleave()
        self.statements += 1
        if not wrapper.autocommit and task.transaction_since is None:
            task.transaction_since = self._kernel.now
        cursor = context["cursor"].cursor
        assert not many and not isinstance(cursor, psycopg.ServerCursor), statement
        self._kernel.enter_database()
        try:
            result = self._execute_on_time(task, execute, statement, parameters, context)
            self._note_result(task, statement, cursor)
        except Exception:
            task.session_time = None
            raise
        finally:
            self._kernel.leave_database()
        if statement.startswith("ROLLBACK"):
            task.session_time = None
        if writes_orders(statement):
            self._writers.add(task)
        if "pg_notify" in statement:
            self._wakeups.setdefault(task, set()).update(_woken(statement, parameters))
        if wrapper.autocommit:
            self._has_committed(task)
        return result

    def _execute_on_time(
        self,
        task: Task,
        execute: Callable[..., Any],
        statement: str,
        parameters: Any,
        context: dict[str, Any],
    ) -> Any:
        """Runs a statement, and first tells the session the time if it has changed."""
        now = self._kernel.now
        if task.session_time == now:
            return execute(statement, parameters, False, context)
        clock = f"SET simulation.now = '{self.now().isoformat()}'; "
        result = execute(clock + statement, parameters, False, context)
        context["cursor"].cursor.nextset()
        task.session_time = now
        return result

    def _note_result(self, task: Task, statement: str, cursor: psycopg.Cursor[Any]) -> None:
        """Writes a checksum of the result to the trace: where two lives part, their results differ first."""
        result = cursor.pgresult
        if self._kernel.is_traced and result is not None:
            rows = [
                [result.get_value(row, column) for column in range(result.nfields)]
                for row in range(result.ntuples)
            ]
            start = " ".join(statement.split()[:4])
            if not start.startswith(("SAVEPOINT", "RELEASE")):  # which are named by the thread's address
                checksum = zlib.crc32(repr(rows).encode())
                self._kernel.note(f"    {task.name}: {start}… -> {cursor.rowcount}, {checksum:08x}")

    def commit(self, original: Callable[[BaseDatabaseWrapper], None], wrapper: BaseDatabaseWrapper) -> None:
        """Wraps every commit."""
        task = self._kernel.current()
        if task is None or task.transaction_since is None:
            return original(wrapper)
        self.interleave()
        fate = self._fate_of_commit()
        if fate == "before":
            self._kernel.note(f"cut before commit: {task.name}")
            self._cut(task)
        self._kernel.enter_database()
        try:
            original(wrapper)
        except Exception:
            task.session_time = None
            raise
        finally:
            self._kernel.leave_database()
            task.transaction_since = None
            self._kernel.locks_may_be_free = True
        self._kernel.note(f"commit {task.name}")
        self._has_committed(task)
        if fate == "after":
            self._kernel.note(f"cut after commit: {task.name}")
            self._cut(task)
        self.interleave(share=0.2)

    def rollback(self, original: Callable[[BaseDatabaseWrapper], None], wrapper: BaseDatabaseWrapper) -> None:
        """Wraps every rollback."""
        task = self._kernel.current()
        try:
            original(wrapper)
        finally:
            if task is not None:
                self._forget_transaction(task)
                self._kernel.locks_may_be_free = True

    def connect(self, original: Callable[..., Any], wrapper: BaseDatabaseWrapper, parameters: Any) -> Any:
        """Wraps every connection that is made."""
        task = self._kernel.current()
        if task is None:
            return original(wrapper, parameters)
        self.interleave()
        if self._kernel.now < self.down_until:
            raise Cut("connection refused")
        return original(wrapper, parameters)

    def close(self, original: Callable[[BaseDatabaseWrapper], None], wrapper: BaseDatabaseWrapper) -> None:
        """Wraps every end of a connection, and waits until the server has noticed it."""
        backend = wrapper.connection.info.backend_pid if wrapper.connection is not None else 0
        original(wrapper)
        self.sessions.wait_for_the_end_of(backend)

    def connected(self, connection: BaseDatabaseWrapper, **_: Any) -> None:
        """Notes a task's new session."""
        task = self._kernel.current()
        if task is not None:
            task.backend = connection.connection.info.backend_pid
            self._forget_transaction(task)
            if self.on_statement not in connection.execute_wrappers:
                connection.execute_wrappers.append(self.on_statement)

    def _forget_transaction(self, task: Task) -> None:
        task.transaction_since = None
        task.session_time = None
        self._wakeups.pop(task, None)
        self._writers.discard(task)

    def _fate_of_commit(self) -> str:
        if self.commits_to_cut and self._kernel.chance.random() < 0.3:
            self.commits_to_cut -= 1
            return self._kernel.chance.choice(["before", "after"])
        return ""

    def _cut(self, task: Task) -> None:
        self.end_session(task)
        raise Cut("the connection was cut")

    def _has_committed(self, task: Task) -> None:
        self._kernel.locks_may_be_free = True
        topics = self._wakeups.pop(task, set())
        for ear, topic, hear in self._ears:
            is_heard = topic in topics and self._kernel.chance.random() >= self.deafness
            if is_heard and not ear.process.is_dead:
                hear()
        if task in self._writers:
            self._writers.remove(task)
            self.on_commit()


def _woken(statement: str, parameters: Any) -> set[Topic]:
    """The topics that a statement wakes, or may wake: they stand in it, or are what is bound to it."""
    return {topic for topic in Topic if topic.channel in statement or topic.channel in repr(parameters)}


@functools.cache
def writes_orders(statement: str) -> bool:
    """Whether a statement may change what the invariants are about."""
    return not statement.lstrip().startswith("SELECT") and any(table in statement for table in WATCHED)


@contextmanager
def hooked(database: Database) -> Iterator[None]:
    """Puts the hooks into Django for as long as the block lasts."""
    originals: Sequence[tuple[type, str, Any]] = [
        (BaseDatabaseWrapper, "_commit", BaseDatabaseWrapper._commit),
        (BaseDatabaseWrapper, "_rollback", BaseDatabaseWrapper._rollback),
        (BaseDatabaseWrapper, "_close", BaseDatabaseWrapper._close),
        (DatabaseWrapper, "get_new_connection", DatabaseWrapper.get_new_connection),
    ]
    hooks = [database.commit, database.rollback, database.close, database.connect]
    for (holder, name, original), hook in zip(originals, hooks, strict=True):
        setattr(holder, name, _around(original, hook))
    connection_created.connect(database.connected)
    try:
        yield
    finally:
        connection_created.disconnect(database.connected)
        for holder, name, original in originals:
            setattr(holder, name, original)
        connection.close()
        database.sessions.resume_all()


def _around(original: Callable[..., Any], hook: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def wrapped(wrapper: BaseDatabaseWrapper, *arguments: Any) -> Any:
        return hook(original, wrapper, *arguments)

    return wrapped
