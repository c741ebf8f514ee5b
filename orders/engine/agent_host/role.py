"""The agent host: runs agents, hundreds of remote calls at once, in one process (A1–A7).

One asyncio loop makes the calls. Three threads with a connection each do the database work. One exchanges answers for
new requests. One renews leases and reports health, so that a slow exchange cannot cost a lease. One reports how the
calls went to the circuits, which all hosts share.

The host keeps the time for every agent: after complete-by nothing is posted (rule 6). It cancels a call whose lease it
could not confirm, because another instance may have claimed the request.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import structlog

from orders.engine.agent_host.call import Call
from orders.engine.agent_host.circuit_view import CircuitView, RetryQueue
from orders.engine.agent_host.database_thread import DatabaseThread
from orders.engine.agent_host.hosted import (
    HostedAgent,
    add_new_calls,
    follow,
    loads_of,
    operations_of,
    quarantine_troubles,
    suspicion_left,
)
from orders.engine.agent_host.records import HostConfig, HostRecords, Results
from orders.engine.agent_host.traced_call import events_of, run_call
from orders.engine.channels import leases, suspects
from orders.engine.circuits.rules import Tally
from orders.engine.contracts import Agent
from orders.engine.role_health import RoleHealth
from orders.engine.rows import EventRow
from orders.engine.runtime.backoff import full_jitter
from orders.engine.runtime.batch import AdaptiveBatch
from orders.engine.runtime.loop import Counts, collect_garbage_seldom
from orders.engine.runtime.sql import DATABASE_TROUBLE, log_trouble, ran_out_of_time
from orders.engine.runtime.text import first_line
from orders.vocabulary import ActorKind

log = structlog.get_logger()
REPORT_PERIOD = 1.0
"""Seconds between two reports to the circuits while no call fails. A failure is reported at once."""
REPORT_GAP = 0.05
"""The least time between two reports, in seconds, so that a hundred failures at once make one report."""
LARGEST_EXCHANGE = 2_000
"""Answers, and requests of each agent, in one exchange at most."""


class AgentHost:
    """Runs some agents until it is stopped; any number of hosts run side by side."""

    def __init__(self, *, config: HostConfig, agents: Sequence[Agent]) -> None:
        self._config = config
        self.health = RoleHealth(
            role=ActorKind.AGENTS,
            instance=config.instance,
            troubles=lambda: quarantine_troubles(config.instance, self._hosted.values()),
        )
        self._records = HostRecords(
            config=config, agents=[agent.name for agent in agents], operations=operations_of(agents)
        )
        self._news = asyncio.Event()
        self._retry_queue = RetryQueue(self._news.set)
        self._hosted = {
            agent.name: HostedAgent(
                agent, CircuitView(agent.name, retry_queue=self._retry_queue, on_news=self._news.set)
            )
            for agent in agents
        }
        self._batch = AdaptiveBatch(LARGEST_EXCHANGE)
        self._ended: list[leases.Answer] = []
        self._notes: list[EventRow] = []
        self._handed_over: list[leases.GivenBack] = []
        self._tasks: dict[tuple[int, int], asyncio.Task[None]] = {}
        self._wake = asyncio.Event()
        self._may_claim = True  # there may be requests that this host has room for
        self._claimed_at = 0.0
        self._is_crowded = False  # the last claim took all that there was room for, so there may be more
        self._stopping = False
        self._suspects = False
        self._exchanged = 0
        self._exchanges = DatabaseThread("exchange")
        self._care = DatabaseThread("care")
        self._reports = DatabaseThread("reports")
        self._loop: asyncio.AbstractEventLoop | None = None

    def wake(self) -> None:
        """Tells the host, from any thread, that there may be requests."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        self._may_claim = True
        self._wake.set()

    def stop(self) -> None:
        """Ends `run`, from any thread: it claims nothing new, gives calls under way a short grace, then gives leases
        back."""
        self._stopping = True
        self.wake()

    def run_once(self) -> Counts:
        """Claims once, makes those calls and posts the answers: one turn, for tests and by hand."""
        return asyncio.run(self._one_turn())

    async def _one_turn(self) -> Counts:
        reports = asyncio.create_task(self._report_calls())
        claimed_count = await self._claim()
        await asyncio.gather(*self._tasks.values())
        self._tasks.clear()
        posted_count = len(self._ended)
        await self._post()
        reports.cancel()
        await asyncio.gather(reports, return_exceptions=True)
        await self._reports.run(partial(self._records.report, self._tallies(), 0))
        await self._close()
        return Counts(done={"claimed": claimed_count, "ended": posted_count})

    async def run(self) -> None:
        """Runs until `stop`."""
        self._loop = asyncio.get_running_loop()
        collect_garbage_seldom()
        log.info("started", action="start", worker=self._config.instance, agents=sorted(self._hosted))
        turns = asyncio.create_task(self._turn_over())
        care = [
            asyncio.create_task(self._renew_leases()),
            asyncio.create_task(self._report_health()),
            asyncio.create_task(self._report_calls()),
        ]
        try:
            # Care ends only on an unforeseen error. The host must not continue without it, so a new host takes over.
            for ended in (await asyncio.wait([turns, *care], return_when=asyncio.FIRST_COMPLETED))[0]:
                ended.result()
            if self._tasks:
                await asyncio.wait(self._tasks.values(), timeout=self._config.grace)
        finally:
            calls = [call for hosted in self._hosted.values() for call in hosted.calls.values()]
            tasks = [turns, *care, *self._tasks.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._leave([call.given_back for call in calls])
            log.info("stopped", action="stop", worker=self._config.instance)

    async def _turn_over(self) -> None:
        """Posts answers and claims requests for as long as there may be any, then waits for a wake-up."""
        failures = 0
        while not self._stopping:
            self._wake.clear()
            began = time.monotonic()
            try:
                if self._has_results:
                    await self._post()
                if self._may_claim and not self._stopping:
                    await self._claim()
            except DATABASE_TROUBLE as error:
                failures += 1
                is_slow = ran_out_of_time(error, time.monotonic() - began)
                if is_slow:
                    self._batch.halve()
                self.health.note_failure(error, is_slow=is_slow)
                log_trouble(error, is_slow=is_slow)
                await asyncio.sleep(full_jitter(failures, first=0.05, cap=2.0))
                continue
            failures = 0
            self.health.note_pass()
            # From the last claim on, since calls that end wake it, too: a lost wake-up costs one poll.
            rest = self._claimed_at + self._config.poll - time.monotonic()
            self._may_claim = self._may_claim or rest <= 0
            if self._has_results or self._may_claim:
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    await self._wake.wait()

    @property
    def _has_results(self) -> bool:
        return bool(self._ended or self._notes or self._handed_over)

    async def _post(self) -> None:
        """Posts what has ended."""
        size, began = self._batch.size, time.monotonic()
        results = Results(self._ended[:size], self._notes[:size], self._handed_over[:size])
        self._ended, self._notes = self._ended[size:], self._notes[size:]
        self._handed_over = self._handed_over[size:]
        try:
            await self._exchanges.run(partial(self._records.post, results))
        except BaseException:
            self._ended[:0], self._notes[:0] = results.answers, results.notes
            self._handed_over[:0] = results.handed_over
            raise
        self._batch.grow(time.monotonic() - began)

    async def _claim(self) -> int:
        """Claims what there is room for. Returns how much that was.

        Another claim follows at once only if this one took all that there was room for, and when there is room again.
        """
        size, began = self._batch.size, time.monotonic()
        self._may_claim, self._claimed_at = False, began
        room = {name: min(hosted.room, size) for name, hosted in self._hosted.items()}
        if not any(free > 0 for free in room.values()):
            self._is_crowded = True
            return 0
        suspicion = suspicion_left(self._hosted.values()) if self._suspects else 0
        try:
            new_leases, snapshot = await self._exchanges.run(partial(self._records.claim, room, suspicion))
        except BaseException:
            self._may_claim = True
            raise
        self._batch.grow(time.monotonic() - began)
        if suspicion and not any(suspects.weight(lease.lapses) for lease in new_leases):
            self._suspects = False
        taken = Counter(lease.agent for lease in new_leases)
        self._is_crowded = any(taken[name] >= free for name, free in room.items())
        if new_leases:
            follow(self._hosted, snapshot)
            self._exchanged += 1
        for lease in new_leases:
            self._begin(lease)
        if any(0 < free <= taken[name] and self._hosted[name].room > 0 for name, free in room.items()):
            self._may_claim = True  # the batch was full, and not the agent
        return len(new_leases)

    async def _report_calls(self) -> None:
        """Reports how calls went, at once if any failed; asks for retries; and reads the circuits."""
        failures = 0
        while True:
            self._news.clear()
            tallies, retries, exchanged = self._tallies(), self._retry_queue.count_waiting(), self._exchanged
            try:
                snapshot, granted = await self._reports.run(partial(self._records.report, tallies, retries))
            except DATABASE_TROUBLE as error:
                failures += 1
                log.warning("calls not reported", action="report", error=first_line(error))
                for name, tally in tallies.items():
                    self._hosted[name].circuit.put_back(tally)
                await asyncio.sleep(full_jitter(failures, first=0.1, cap=2.0))
                continue
            failures = 0
            self._retry_queue.grant(granted)
            is_news = exchanged == self._exchanged
            # Otherwise a claim has read the circuits since, perhaps with a probe.
            if is_news and follow(self._hosted, snapshot):
                self._look()
            await asyncio.sleep(REPORT_GAP)
            if granted < retries or not is_news:
                continue
            # Not `wait_for`: before Python 3.12 it swallows a cancellation that comes in the same moment as the news,
            # and the host would never stop.
            with suppress(TimeoutError):
                async with asyncio.timeout(REPORT_PERIOD):
                    await self._news.wait()

    def _tallies(self) -> dict[str, Tally]:
        tallies = {name: hosted.circuit.take() for name, hosted in self._hosted.items()}
        return {name: tally for name, tally in tallies.items() if tally.calls}

    def _begin(self, lease: leases.Lease) -> None:
        hosted = self._hosted[lease.agent]
        call = Call(
            lease=lease,
            agent=hosted.agent,
            stats=hosted.stats,
            lease_seconds=self._config.lease,
            circuit=hosted.circuit,
        )
        hosted.calls[call.held] = call
        self._tasks[call.held] = asyncio.create_task(self._make(hosted, call))

    async def _make(self, hosted: HostedAgent, call: Call) -> None:
        """Makes one call and hands its answer over. A call that is cancelled leaves its request to other hosts."""
        try:
            answer = await run_call(call, instance=self._config.instance)
            self._notes += events_of(call, instance=self._config.instance)
            if answer is None:
                self._handed_over.append(call.given_back)
            else:
                self._ended.append(answer)
        finally:
            hosted.calls.pop(call.held, None)
            self._tasks.pop(call.held, None)
            self._may_claim = self._may_claim or self._is_crowded
            self._wake.set()

    async def _renew_leases(self) -> None:
        """Renews every lease, and cancels the calls whose leases are lost or could not be confirmed in time."""
        period = self._config.lease / 4
        while True:
            await asyncio.sleep(period)
            calls = {held: call for hosted in self._hosted.values() for held, call in hosted.calls.items()}
            try:
                async with asyncio.timeout(period):
                    renewal = partial(self._records.renew, list(calls))
                    confirmed, self._suspects = await self._care.run(renewal)
            except (*DATABASE_TROUBLE, TimeoutError):
                log.warning("leases not confirmed", action="renew", calls=len(calls))
                self._cancel([call for call in calls.values() if call.held_until.left() <= period])
                continue
            for held in confirmed:
                calls[held].confirm(self._config.lease - period)
            self._cancel([call for held, call in calls.items() if held not in confirmed])

    def _cancel(self, calls: Sequence[Call]) -> None:
        for call in calls:
            task = self._tasks.get(call.held)
            if task is not None:
                lease = call.lease
                log.warning("lease lost", action="cancel", order_id=str(lease.order_id), key=lease.key)
                task.cancel()

    async def _report_health(self) -> None:
        is_known = False
        while True:
            try:
                beat = partial(self._records.beat, loads_of(self._hosted), is_first=not is_known)
                await self._care.run(beat)
                is_known = True
                await self._reports.run(self.health.beat)
            except DATABASE_TROUBLE as error:
                log.warning("health not reported", action="heartbeat", error=first_line(error))
            await add_new_calls(self._hosted, self._reports)
            await asyncio.sleep(self._config.heartbeat)

    async def _leave(self, unfinished: list[leases.GivenBack]) -> None:
        """Posts the answers, gives back the requests that are still open, and takes this instance off the list."""
        try:
            while self._has_results:
                await self._post()
            await self._care.run(partial(self._records.give_back, unfinished))
            await self._care.run(self.health.forget)
        except DATABASE_TROUBLE as error:
            log.warning("leases left to lapse", action="stop", error=first_line(error))
        await add_new_calls(self._hosted, self._reports)
        await self._close()

    async def _close(self) -> None:
        for hosted in self._hosted.values():
            await hosted.agent.close()
        for thread in (self._exchanges, self._care, self._reports):
            await thread.close()
