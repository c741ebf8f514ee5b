"""How an order ends that a test runs. What runs it needs the tables, and is imported when it is needed: the tests of an
agent need no Django."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from orders.engine.contracts import Json
from orders.testing.failing import Faults


@dataclass(frozen=True, kw_only=True)
class EndedStep:
    """How a step ended. `failures` are those that counted; `result` and `error` are None if it has none."""

    state: str
    attempts: int
    failures: int
    result: Json | None
    error: Json | None


@dataclass(frozen=True, kw_only=True)
class EndedOrder:
    """How an order ended.

    `state` is processed, compensated or error. `events` are its history, each as (kind, step). `seconds_skipped` are
    what it would have waited for retries, probes and the like.
    """

    order_id: UUID
    state: str
    steps: Mapping[str, EndedStep]
    events: Sequence[tuple[str, str]]
    seconds_skipped: float


def run_to_end(
    order_id: UUID,
    *,
    faults: Faults | None = None,
    answers: Mapping[str, Json] | None = None,
    compensate: bool = False,
) -> EndedOrder:
    """Runs submission, scheduler, supervisor and agents until an order has ended, and returns how.

        ended = run_to_end(
            AnalyseSample.start("S-1", {"sample": "S-1", …}),
            faults={"instruments": [Transient("down", "no answer"), LostAnswer(fault=Transient("cut", "no answer"))]},
        )
        assert ended.state == "processed"

    The agents call their services, so run a stand-in and set its url in the environment. `faults` say what becomes of
    their next calls. `answers` are what steps that wait are given, by their names: `{"choice": "accept"}` for a
    decision, and what the remote service calls back with for a `Pending`. Without one, the time for the answer passes,
    and agents ask again. `compensate` requests first that the order be compensated, as an operator does, even one that
    has ended. An order that waits costs no time: see `orders.testing.elapsing`.

    The test needs `@pytest.mark.django_db(transaction=True)`. Raises `AssertionError` if the order does not end.
    """
    from orders.testing import running  # noqa: PLC0415 - see above

    return running.run(order_id, faults=faults or {}, answers=answers or {}, compensate=compensate)
