"""One request's remote calls: the first try and its retries, within the complete-by time (A2, A5, A6).

Before a call that may repeat an effect, a remote service that can be asked is asked whether it is done (`Doubt`).
"""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias, TypeVar, cast

import structlog

from orders.engine.agent_host.circuit_view import CircuitView
from orders.engine.agent_host.doubt import CannotAsk, Doubt, Undecided
from orders.engine.agent_host.requests import request_of
from orders.engine.agent_host.statistics import CallStats
from orders.engine.agent_host.storable import (
    LONGEST_MESSAGE,
    IncompleteResult,
    fault_body,
    make_storable,
    pending_text,
    result_text,
    safe_text,
    short_exchange,
)
from orders.engine.agent_host.tallies import outcome_of
from orders.engine.channels.leases import Answer, GivenBack, Lease
from orders.engine.contracts import (
    Agent,
    Done,
    Finding,
    InquiringAgent,
    NotDone,
    Pending,
    Request,
    Unknown,
)
from orders.engine.errors import Declined, Fault, Refused, Transient, Unresolved
from orders.engine.exchanges import noting
from orders.engine.runtime.backoff import full_jitter
from orders.engine.runtime.clock import Deadline
from orders.vocabulary import CallOutcome, EventKind, ReplyOutcome

log = structlog.get_logger()
Returned = TypeVar("Returned")
Answered: TypeAlias = tuple[ReplyOutcome, str]
"""That the request is done, or is answered later; and the result, or what is said of the answer, as JSON."""

FIRST_BACKOFF = 0.2
BACKOFF_CAP = 5.0
"""Seconds. A blip is retried at once; the cap leaves time for several more tries within 30 s."""
MARGIN = 0.2
"""Seconds before complete-by at which an agent is stopped, so that its last failure is on record when the supervisor
looks. A local clock may only stop work earlier, never later."""
LONGEST_PAUSE = 5.0
"""Seconds that a call waits at most because its remote service asks for time. Longer waits belong to the step."""
LAST_TRY = 0.5
"""Seconds. With less time left, no further try is squeezed in."""
NOTES_KEPT = 20
"""The most failed tries and inquiries of one attempt that go into the order's history: the first ones tell the
story."""
FINDINGS = {Done: "done", NotDone: "not_done", Pending: "pending", Unknown: "unknown"}
"""What the remote service said when it was asked, as the history stores it."""


class Call:
    """A leased request while its agent works on it."""

    def __init__(
        self,
        *,
        lease: Lease,
        agent: Agent,
        stats: CallStats,
        lease_seconds: float,
        circuit: CircuitView | None = None,
    ) -> None:
        self.lease = lease
        self._circuit = circuit or CircuitView(lease.agent)
        self.notes: list[tuple[EventKind, dict[str, Any]]] = []
        """What goes into the order's history: failed tries, and what the remote service said when it was asked."""
        self.noted_at: list[float] = []
        """When each of these happened, by `time.monotonic`. They are recorded when the call has ended."""
        self.held_until = Deadline.after(lease_seconds)
        self._agent = agent
        self._doubt = Doubt(lease, can_ask=hasattr(agent, "inquire"))
        self._stats = stats
        self._complete_by = Deadline.after(lease.seconds_left - MARGIN)
        self._tries = 0
        self._finding: dict[str, Any] = {}
        self._exchange: Mapping[str, Any] | None = None
        self._is_probe = False
        self._began = time.monotonic()

    @property
    def held(self) -> tuple[int, int]:
        """The id of the request, and the number of the delivery that this call holds."""
        return self.lease.id, self.lease.deliveries

    @property
    def given_back(self) -> GivenBack:
        """The request as it is given back when this call is not finished."""
        doubt = self._doubt
        return GivenBack(*self.held, has_called=doubt.has_called, is_under_way=doubt.may_be_under_way)

    def confirm(self, seconds: float) -> None:
        """Notes that the lease is ours for at least that long from now."""
        self.held_until = Deadline.after(seconds)

    async def run(self) -> Answer | None:
        """Tries until there is an answer, or until complete-by, when the request is abandoned in silence (A5).

        While the agent's circuit is not closed only a probe is tried, and it is not retried. Other requests are handed
        back as deferred. None: this host is in quarantine, so another one is to take the request.
        """
        request = request_of(self.lease)
        if not self._circuit.admits_to_quarantine():
            return None
        if not self._circuit.admits():
            return self._deferred()
        self._is_probe = not self._circuit.is_clear
        while self._complete_by.left() > 0:
            self._tries += 1
            began = time.monotonic()
            try:
                answered = await self._try(request)
            except Transient as fault:
                self._note(fault, began)
                self._count(None if isinstance(fault, Undecided) else fault)
                if self._asks_for_time(fault):
                    return self._deferred(fault)
                if self._circuit.is_usable and not await self._pause(fault):
                    break
                if not self._circuit.is_clear:
                    return self._deferred(fault)
                if self._circuit.is_quarantined:
                    return None
            except Fault as fault:
                self._note(fault, began)
                self._count()  # it answered
                if late_result := await self._find_result(request, fault):
                    return self._ended(*late_result)
                return self._ended(_outcome(fault), json.dumps(fault_body(fault)))
            else:
                self._stats.record(seconds=time.monotonic() - began, outcome=CallOutcome.OK)
                self._count()
                return self._ended(*answered)
        return self._ended(ReplyOutcome.ABANDONED, "{}")

    def _asks_for_time(self, fault: Transient) -> bool:
        """Whether the remote service asks for more time than an attempt should wait. Then the step waits instead."""
        wait = fault.retry_after
        return wait is not None and (wait > LONGEST_PAUSE or wait >= self._complete_by.left())

    async def _pause(self, fault: Transient) -> bool:
        """Waits before the next try, and for a retry from the budget; False if there is no time for one."""
        remaining = self._complete_by.left()
        wait = full_jitter(self._tries, first=FIRST_BACKOFF, cap=BACKOFF_CAP)
        if wait >= remaining > LAST_TRY:
            wait = remaining / 2  # so that there is time for another try
        wait = max(wait, fault.retry_after or 0.0)
        if wait >= remaining:
            return False
        await asyncio.sleep(wait)
        return not self._circuit.is_usable or await self._circuit.retry(within=self._complete_by.left())

    async def _try(self, request: Request) -> Answered:
        """Makes one try. Asks first whether it is done already, if it may be."""
        if self._doubt.must_ask:
            finding = await self._ask(request)
            if isinstance(finding, tuple):
                return finding
            self._doubt.weigh(finding)
        self._doubt.note_call()
        try:
            return await self._bounded(self._send, request)
        except Transient as fault:
            self._doubt.note_fault(fault)
            raise

    async def _send(self, request: Request) -> Answered:
        method = self._agent.compensate if request.compensates else self._agent.perform
        with noting() as note:
            answer = await method(request)
        self._exchange = short_exchange(note.exchange)
        if isinstance(answer, Pending):
            return ReplyOutcome.PENDING, pending_text(answer)
        return ReplyOutcome.DONE, self._result_text(answer)

    async def _ask(self, request: Request) -> Answered | NotDone | Unknown:
        """Asks the remote service what has become of the request.

        If it cannot be asked, or the inquiry fails for good, it is unknown, and a service that does not recognise the
        key cannot be called again. Raises a `Fault` then, never `Refused`: the service refused the inquiry, not the
        request.
        """
        try:
            finding, result = await self._bounded(self._inquire, request)
        except Fault as fault:
            if self._doubt.is_safe:
                finding, result = Unknown(reason=f"the inquiry failed: {fault}"), ""
            elif isinstance(fault, Transient):
                raise
            else:
                raise CannotAsk(fault.code, fault.message) from fault
        self._note_finding(finding, result)
        if isinstance(finding, Done):
            return ReplyOutcome.DONE, result
        return (ReplyOutcome.PENDING, result) if isinstance(finding, Pending) else finding

    async def _inquire(self, request: Request) -> tuple[Finding, str]:
        """What the remote service says, and the result as JSON if it is done, or what it says of the answer."""
        if not self._doubt.can_ask:
            raise Unresolved("cannot_ask", f"{self._agent.name} cannot ask whether this has been done")
        finding: Finding = await cast(InquiringAgent, self._agent).inquire(request)
        match finding:
            case Done():
                return finding, self._result_text(finding.result)
            case Pending():
                return finding, pending_text(finding)
            case Unknown():
                return Unknown(reason=safe_text(finding.reason)[:LONGEST_MESSAGE]), ""
            case NotDone():
                return finding, ""
        raise TypeError(f"inquire returned {type(finding).__name__}, not Done, NotDone, Pending or Unknown")

    def _result_text(self, answer: Any) -> str:
        types = self.lease.body.get("result_fields", {})
        return result_text(answer, agent=self._agent.name, types=types)

    async def _find_result(self, request: Request, fault: Fault) -> Answered | None:
        """The result of a request whose outcome the remote service left open, if it says that it is done after all."""
        is_open = isinstance(fault, Unresolved) and not isinstance(fault, CannotAsk)
        if not is_open or not self._doubt.can_ask or self._complete_by.left() <= 0:
            return None
        try:
            finding = await self._ask(request)
        except Fault:
            return None
        return finding if isinstance(finding, tuple) else None

    async def _bounded(self, work: Callable[[Request], Awaitable[Returned]], request: Request) -> Returned:
        """Runs an agent's method in bounded time. All that an agent says is made storable here.

        If the agent raises an unexpected error, or its answer cannot be stored, it is unknown whether its effect
        happened.
        """
        limit = max(0.0, min(self._agent.call_timeout, self._complete_by.left()))
        try:
            async with asyncio.timeout(limit):
                return await work(request)
        except TimeoutError as error:
            raise Transient("no_answer", f"no answer within {limit:.1f} s") from error
        except Fault as fault:
            make_storable(fault)
            raise
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():  # the host stops the call
                raise
            raise self._failed(error) from error
        except BaseException as error:
            log.exception(
                "agent failed",
                action="call",
                agent=self._agent.name,
                order_id=str(request.order_id),
                key=request.key,
            )
            raise self._failed(error) from error

    def _failed(self, error: BaseException) -> Unresolved:
        """The fault of an agent that raised an error that it does not declare."""
        fault = Unresolved("agent_failed", f"{type(error).__name__}: {safe_text(error)}")
        make_storable(fault)
        return fault

    def _deferred(self, fault: Fault | None = None) -> Answer:
        """Hands the request back, so that the step waits until its agent can be used again."""
        code, message = (fault.code, fault.message) if fault else ("not_called", self._circuit.cause)
        cause: dict[str, Any] = {"code": code, "message": message}
        if isinstance(fault, Transient) and fault.retry_after:
            cause["retry_after"] = fault.retry_after
        answer = self._ended(ReplyOutcome.DEFERRED, json.dumps(cause))
        # The host of an earlier delivery may have called before it died, so this must not count as never begun.
        return answer._replace(calls=max(answer.calls, int(self.lease.may_be_begun)))

    def _count(self, fault: Transient | None = None) -> None:
        """Counts a try at the circuit."""
        self._circuit.count(
            failed=fault is not None,
            is_retry=self._tries > 1,
            fault=fault,
            order_id=str(self.lease.order_id),
            is_probe=self._is_probe,
        )

    def _note(self, fault: Fault, began: float) -> None:
        seconds = time.monotonic() - began
        self._stats.record(seconds=seconds, outcome=outcome_of(fault))
        failure: dict[str, Any] = {"code": fault.code, "message": fault.message, "seconds": round(seconds, 3)}
        if isinstance(fault, Refused):
            failure["is_final"] = True
        if isinstance(fault, IncompleteResult) and fault.answer is not None:
            failure["answer"] = fault.answer
        exchange, self._exchange = fault.exchange or self._exchange, None
        if exchange is not None:
            failure["exchange"] = exchange
        self._record(EventKind.CALL_FAILED, failure)

    def _note_finding(self, finding: Finding, result: str) -> None:
        """Records what the remote service said; once, if it says the same again and again."""
        detail: dict[str, Any] = {"finding": FINDINGS[type(finding)]}
        if isinstance(finding, Done) and len(result) <= LONGEST_MESSAGE:
            detail["result"] = finding.result
        elif isinstance(finding, Unknown):
            detail["reason"] = finding.reason
        if detail != self._finding:
            self._finding = detail
            self._record(EventKind.INQUIRED, detail)

    def _record(self, kind: EventKind, detail: dict[str, Any]) -> None:
        if len(self.notes) < NOTES_KEPT:
            self.notes.append((kind, {"try": self._tries} | detail))
            self.noted_at.append(time.monotonic())

    def _ended(self, outcome: ReplyOutcome, body: str) -> Answer:
        seconds = round(time.monotonic() - self._began, 3)
        return Answer(
            self.lease.id, self.lease.deliveries, outcome, body, self._tries, seconds, self._exchange
        )


def _outcome(fault: Fault) -> ReplyOutcome:
    if isinstance(fault, Declined):
        return ReplyOutcome.DECLINED
    return ReplyOutcome.REFUSED if isinstance(fault, Refused) else ReplyOutcome.FAILED
