"""A log that something repeats thousands of times a second grows by no more than a few lines a minute."""

import logging
import re
from collections.abc import Iterator

import pytest
import structlog

from sasweb import logs


class Output(logging.Handler):
    """Keeps what would be written."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


class Clock:
    """A clock that the test sets, in seconds."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def output(clock: Clock) -> Iterator[Output]:
    handler, log = Output(), logging.getLogger("tests.limited")
    handler.addFilter(logs.Limit(most=3, clock=clock))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    yield handler
    log.removeHandler(handler)


LOG = logging.getLogger("tests.limited")
OURS = structlog.get_logger("tests.limited")


def fail(times: int, text: str = "number %d") -> None:
    for number in range(times):
        LOG.error(text, number)


def test_the_first_lines_of_a_minute_are_kept_and_the_others_are_counted(
    output: Output, clock: Clock
) -> None:
    fail(10)
    assert output.lines == ["number 0", "number 1", "number 2"]
    clock.now += 60
    fail(1)
    left_out, *others = output.lines[3:]
    assert re.fullmatch(r"left out 7 more lines like this one: test_log_limit\.fail:\d+", left_out)
    assert others == ["number 0"]
    clock.now += 60
    fail(1)
    assert output.lines[5:] == ["number 0"]


def test_a_text_that_differs_each_time_makes_no_new_kind(output: Output) -> None:
    for number in range(10):
        fail(1, f"host {number} is not allowed: %d")
    assert len(output.lines) == 3


def test_another_kind_is_kept_and_so_are_lines_that_warn_of_nothing(output: Output) -> None:
    fail(10)
    LOG.warning("something else")
    for _ in range(10):
        LOG.info("all is well")
    assert output.lines[3:] == ["something else", *["all is well"] * 10]


def test_our_own_events_are_kinds_wherever_they_are_logged(output: Output) -> None:
    for number in range(10):
        OURS.warning("call failed", number=number)
        OURS.warning("no answer", number=number)
    assert len(output.lines) == 6


def test_the_products_log_is_limited() -> None:
    settings = logs.settings()
    assert settings["handlers"]["stdout"]["filters"] == ["interest", "limit"]
    assert settings["filters"]["limit"] == {"()": logs.Limit}
