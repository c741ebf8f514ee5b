"""When a web process stops waiting for its database, and when it begins to ask it again."""

import threading
from collections.abc import Generator, Iterator

import psycopg
import pytest
from psycopg.waiting import Ready, Wait

from sasweb.database_circuit import LONGEST_SILENCE, SIGN_WITHIN, SUSPICIOUS, DatabaseCircuit, NoAnswer
from tests.support.wait import until


class Database:
    """One that gives a sign of life, refuses it, or leaves who asks waiting until it `goes_on`."""

    def __init__(self) -> None:
        self.error: psycopg.Error | None = None
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.questions = 0
        self.now = 0.0
        self.circuit = DatabaseCircuit(self._answer, clock=lambda: self.now, pause=0.01)

    def _answer(self) -> None:
        self.questions += 1
        assert self.goes_on.wait(60)
        if self.error:
            raise self.error


@pytest.fixture
def database() -> Iterator[Database]:
    database = Database()
    yield database
    database.error = None
    database.goes_on.set()
    until(lambda: not database.circuit.is_open, what="the end of the thread that asks")


def silent() -> Generator[Wait, Ready, str]:
    """A statement that has its answer when something arrives."""
    while (yield Wait.R) == Ready.NONE:
        pass
    return "the answer"


def test_a_database_that_refuses_opens_the_circuit_until_it_answers(database: Database) -> None:
    database.error = psycopg.OperationalError("refused")
    database.circuit.check()
    database.circuit.suspect()
    until(lambda: database.circuit.is_open, what="an open circuit")
    with pytest.raises(NoAnswer) as refusal:
        database.circuit.check()
    assert refusal.value.__cause__ is database.error
    database.error = None
    until(lambda: not database.circuit.is_open, what="a closed circuit")
    database.circuit.check()


def test_a_database_that_says_nothing_opens_the_circuit_once_its_time_is_over(database: Database) -> None:
    database.goes_on.clear()
    database.circuit.suspect()
    database.now = SIGN_WITHIN
    assert not database.circuit.is_open
    database.now = SIGN_WITHIN + 0.1
    assert database.circuit.is_open
    database.goes_on.set()
    until(lambda: not database.circuit.is_open, what="a closed circuit")


def test_who_waits_for_a_database_that_hangs_is_let_go(database: Database) -> None:
    database.goes_on.clear()
    statement = database.circuit.watched(silent())
    next(statement)
    database.now = SUSPICIOUS - 0.1
    statement.send(Ready.NONE)
    assert database.questions == 0
    database.now = SUSPICIOUS
    statement.send(Ready.NONE)
    until(lambda: database.questions == 1, what="a question for a sign of life")
    database.now += SIGN_WITHIN + 0.1
    with pytest.raises(NoAnswer):
        statement.send(Ready.NONE)


def test_a_slow_statement_goes_on_while_the_database_answers_others(database: Database) -> None:
    statement = database.circuit.watched(silent())
    next(statement)
    database.now = LONGEST_SILENCE - 0.1
    statement.send(Ready.NONE)
    until(lambda: database.questions == 1, what="a question for a sign of life")
    assert not database.circuit.is_open
    with pytest.raises(StopIteration) as end:
        statement.send(Ready.R)
    assert end.value.value == "the answer"


def test_a_statement_whose_connection_is_dead_is_given_up_although_the_database_answers(
    database: Database,
) -> None:
    statement = database.circuit.watched(silent())
    next(statement)
    database.now = LONGEST_SILENCE
    with pytest.raises(NoAnswer):
        statement.send(Ready.NONE)


def test_a_crowd_that_waits_asks_once(database: Database) -> None:
    database.goes_on.clear()
    for _ in range(50):
        database.circuit.suspect()
    until(lambda: database.questions == 1, what="a question")
    database.goes_on.set()
    until(lambda: not any(thread.name == "sign of life" for thread in threading.enumerate()), what="its end")
    database.circuit.suspect()  # it has just given one
    assert database.questions == 1
