"""Runs an order in the process of a test, with the roles as they are in production."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from orders import wiring
from orders.business import registry
from orders.engine.callbacks import issue_token
from orders.engine.contracts import Agent, Json
from orders.engine.rows import effect_key
from orders.engine.runtime.statements import prepare_statements
from orders.models import AgentInstance, AgentReply, AgentRequest, Event, OrderProcess, SetAside, StepState
from orders.services.answers import answer_callback, answer_wait
from orders.services.order_changes import compensate_order
from orders.testing.elapsing import skip_to_next_moment
from orders.testing.ending import EndedOrder, EndedStep
from orders.testing.failing import Faults, failing
from orders.vocabulary import ProcessState, StepStatus, WaitKind

BOUND = 60.0
"""Seconds of real time after which an order that makes no progress fails the test."""
POLL = 0.005
"""Seconds between two looks while a call is under way."""
MOST_SKIPS = 250
"""Times that an order may wait. After some 40 minutes of probes, and half a minute of the test, nobody answers because
nobody is there."""
IDLE = 10.0
"""Seconds of real time after which an order fails the test that waits for nothing that time brings, such as one whose
agent has been paused. Some waits are not in its rows: its agent may be let through more slowly after an outage."""
ENDED = (ProcessState.PROCESSED, ProcessState.COMPENSATED, ProcessState.ERROR)


def run(order_id: UUID, *, faults: Faults, answers: Mapping[str, Json], compensate: bool) -> EndedOrder:
    """See `orders.testing.ending.run_to_end`."""
    assert not connection.in_atomic_block, (
        "run_to_end needs @pytest.mark.django_db(transaction=True), since the roles do not see what is not committed"
    )
    with _Roles(failing(registry.make_agents(), faults)) as roles:
        if compensate:
            roles.settle(order_id)
            compensate_order(order_id=order_id, by="test")
        seconds_skipped = roles.run_until_ended(order_id, answers)
    return _ended(order_id, seconds_skipped)


class _Roles:
    """One of each role. The agents run in a thread, since their calls take time, and the others in passes."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        prepare_statements()
        self._submission = wiring.submission()
        self._scheduler = wiring.scheduler()
        self._supervisor = wiring.supervisor()
        self._agents = {agent.name for agent in agents}
        self._host = wiring.host_of(agents)
        self._host_ended: Future[None] = Future()

    def __enter__(self) -> "_Roles":
        threading.Thread(target=self._run_host, name="agents").start()
        # Nothing is sent to an agent that nobody runs.
        for _ in _patiently(lambda: "a heartbeat of the agents"):
            if self._agents <= set(AgentInstance.objects.values_list("agent", flat=True)):
                break
            self._check_host()
        return self

    def __exit__(self, *_: object) -> None:
        self._supervisor.release()
        self._host.stop()
        self._host_ended.result(BOUND)

    def run_until_ended(self, order_id: UUID, answers: Mapping[str, Json]) -> float:
        """Runs passes until the order has ended. Returns the seconds that were skipped."""
        seconds_skipped, skips, moved_at = 0.0, 0, time.monotonic()
        while skips < MOST_SKIPS and time.monotonic() - moved_at < IDLE:
            self.settle(order_id)
            if OrderProcess.objects.get(pk=order_id).process_state in ENDED:
                return seconds_skipped
            if _answer(order_id, answers):
                moved_at = time.monotonic()
                continue
            if span := skip_to_next_moment(order_id):
                seconds_skipped, skips, moved_at = seconds_skipped + span, skips + 1, time.monotonic()
                self._host.wake()
            else:
                time.sleep(POLL)
        raise AssertionError(f"the order has waited {skips} times and does not end:\n{_story(order_id)}")

    def settle(self, order_id: UUID) -> None:
        """Runs passes until nothing is left to do now, and no call is under way."""
        for _ in _patiently(lambda: f"the order to go on:\n{_story(order_id)}"):
            self._check_host()
            if not self._pass() and not _is_under_way(order_id):
                break
        if aside := SetAside.objects.filter(order_id=order_id, replayed_at=None).first():
            raise AssertionError(f"the order cannot be inserted: {aside.reason}")
        assert OrderProcess.objects.filter(pk=order_id).exists(), f"there is no order {order_id}"

    def _pass(self) -> bool:
        """One pass of each role; returns whether any had something to do."""
        counts = [self._submission.run_once(), self._scheduler.run_once()]
        if self._supervisor.acquire():
            counts.append(self._supervisor.run_once())
        if counts[1].done.get("started"):
            self._host.wake()
        return any(number for count in counts for number in count.done.values())

    def _check_host(self) -> None:
        if self._host_ended.done():
            self._host_ended.result()

    def _run_host(self) -> None:
        try:
            asyncio.run(self._host.run())
        except BaseException as error:  # noqa: BLE001 - the test raises it
            self._host_ended.set_exception(error)
        else:
            self._host_ended.set_result(None)
        finally:
            connection.close()


def _answer(order_id: UUID, answers: Mapping[str, Json]) -> bool:
    """Gives the steps that wait what they are to be given; says whether any waited for that."""
    awaiting = StepState.objects.filter(process_id=order_id, state=StepStatus.AWAITING, name__in=answers)
    steps = list(awaiting.exclude(complete_by=None).values_list("name", "awaits", "generation"))
    for name, awaits, generation in steps:
        if (awaits or {}).get("kind") == WaitKind.ANSWER:
            token = issue_token(effect_key(order_id, name, generation))
            answer_callback(token=token, result=answers[name])
        else:
            answer_wait(order_id=order_id, step=name, awaits=awaits, result=answers[name], by="test")
    return bool(steps)


def _patiently(what: Callable[[], str]) -> Iterator[None]:
    """Looks again and again, with a short pause. Raises `AssertionError` after `BOUND`, with what was waited for."""
    ends = time.monotonic() + BOUND
    while time.monotonic() < ends:
        yield
        time.sleep(POLL)
    raise AssertionError(f"waited {BOUND:.0f} s for {what()}")


def _is_under_way(order_id: UUID) -> bool:
    """Whether agents have requests of the order, or have answered one. An answer replaces its request, so it is looked
    for afterwards."""
    return any(messages.objects.filter(order_id=order_id).exists() for messages in (AgentRequest, AgentReply))


def _ended(order_id: UUID, seconds_skipped: float) -> EndedOrder:
    steps = StepState.objects.filter(process_id=order_id).order_by("position", "id")
    return EndedOrder(
        order_id=order_id,
        state=OrderProcess.objects.get(pk=order_id).process_state,
        steps={
            step.name: EndedStep(
                state=step.state,
                attempts=step.attempt,
                failures=step.failure_count + step.compensation_failure_count,
                result=step.result,
                error=step.error,
            )
            for step in steps
        },
        events=list(_events(order_id).values_list("kind", "step")),
        seconds_skipped=seconds_skipped,
    )


def _events(order_id: UUID) -> QuerySet[Event]:
    return Event.objects.filter(order_id=order_id).order_by("id")


def _story(order_id: UUID) -> str:
    """What has happened to an order, for the report of a failing test."""
    return "\n".join(f"{event} {event.detail}" for event in _events(order_id).reverse()[:30][::-1])
