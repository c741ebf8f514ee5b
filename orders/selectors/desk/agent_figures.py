"""An agent's calls over time, from its tally as it stood at the end of each minute and hour, and its outages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from orders.engine.runtime.sql import fetch
from orders.models import AgentFigures
from orders.models.figures import BUCKETS, LATENCY_BOUNDS
from orders.selectors.desk.figures import Range, beginnings, bounds
from orders.selectors.desk.histograms import percentile, total


@dataclass(frozen=True, kw_only=True)
class CallCounts:
    """An agent's calls in a step. Errors are calls that ended otherwise than well or declined; `p50` and `p95` are the
    durations of calls in seconds."""

    calls: int
    errors: int
    p50: float | None
    p95: float | None


@dataclass(frozen=True, kw_only=True)
class CallStep:
    """A part of a range. `counts` is None if nothing was measured. The circuit was open for `open_seconds` of it."""

    began: datetime
    counts: CallCounts | None
    open_seconds: float


@dataclass(frozen=True, kw_only=True)
class Outage:
    """A time in which the agent's circuit was open, within the range."""

    began: datetime
    ended: datetime


@dataclass(frozen=True, kw_only=True)
class AgentSeries:
    """The calls of an agent over a range, oldest first."""

    agent: str
    range: Range
    since: datetime
    until: datetime
    steps: Sequence[CallStep]
    outages: Sequence[Outage]


def agent_series(shown: Range, *, agents: Sequence[str], now: datetime) -> list[AgentSeries]:
    """The calls of each of these agents over a range. Four queries."""
    since, until = bounds(shown, now=now)
    readings: dict[datetime, dict[str, AgentFigures]] = {}
    for row in AgentFigures.objects.filter(
        span=shown.span, began__gte=since - shown.row, began__lt=until
    ).order_by("began"):
        readings.setdefault(row.began, {})[row.agent] = row
    outages = _outages(agents, since, until)
    for agent, forced in _forced_open(agents, since, until).items():
        outages[agent] = _merged([*outages.get(agent, []), *forced])
    return [
        AgentSeries(
            agent=agent,
            range=shown,
            since=since,
            until=until,
            steps=list(_steps(shown, since, until, agent, readings, outages.get(agent, []))),
            outages=outages.get(agent, []),
        )
        for agent in agents
    ]


def _steps(
    shown: Range,
    since: datetime,
    until: datetime,
    agent: str,
    readings: Mapping[datetime, Mapping[str, AgentFigures]],
    outages: Sequence[Outage],
) -> Iterator[CallStep]:
    new: dict[datetime, list[tuple[int, int, list[int]]]] = {}
    for (before, earlier), (began, later) in pairwise(readings.items()):
        if began - before == shown.row and agent in later:
            step = since + (began - since) // shown.step * shown.step
            new.setdefault(step, []).append(_difference(earlier.get(agent), later[agent]))
    for began in beginnings(shown, since, until):
        ends = began + shown.step
        yield CallStep(
            began=began,
            counts=_sum_up(new[began]) if began in new else None,
            open_seconds=sum(
                max(0.0, (min(ends, outage.ended) - max(began, outage.began)).total_seconds())
                for outage in outages
            ),
        )


def _difference(earlier: AgentFigures | None, later: AgentFigures) -> tuple[int, int, list[int]]:
    """What came in between. An agent that had no tally before had made no call."""
    if earlier is None:
        return later.calls, later.errors, later.buckets
    buckets = [count - before for count, before in zip(later.buckets, earlier.buckets, strict=True)]
    return later.calls - earlier.calls, later.errors - earlier.errors, buckets


def _sum_up(new: Sequence[tuple[int, int, list[int]]]) -> CallCounts:
    buckets = total([0] * BUCKETS, *(buckets for _, _, buckets in new))
    return CallCounts(
        calls=sum(calls for calls, _, _ in new),
        errors=sum(errors for _, errors, _ in new),
        p50=percentile(buckets, LATENCY_BOUNDS, 0.5),
        p95=percentile(buckets, LATENCY_BOUNDS, 0.95),
    )


def _outages(agents: Sequence[str], since: datetime, until: datetime) -> dict[str, list[Outage]]:
    """When circuits were open: as long as the alert of the outage was, which the circuit opens and closes."""
    rows = fetch(
        """
        SELECT cause.agent, greatest(alert.opened_at, %(since)s), least(coalesce(alert.closed_at, %(until)s), %(until)s)
          FROM orders_alertgroup AS cause
          JOIN orders_alert AS alert ON alert.group_id = cause.id
         WHERE cause.kind = 'outage' AND cause.code <> 'no_host' AND cause.agent = ANY(%(agents)s)
           AND alert.opened_at < %(until)s AND (alert.closed_at IS NULL OR alert.closed_at > %(since)s)
         ORDER BY alert.opened_at
        """,
        {"agents": list(agents), "since": since, "until": until},
    )
    outages: dict[str, list[Outage]] = {}
    for agent, began, ended in rows:
        outages.setdefault(agent, []).append(Outage(began=began, ended=ended))
    return outages


def _forced_open(agents: Sequence[str], since: datetime, until: datetime) -> dict[str, list[Outage]]:
    """When operators forced circuits open, by what the audit log says of each agent: the last entry before the range,
    and those in it. An entry holds until the next one, and at most until the time that it names."""
    rows = fetch(
        """
        SELECT agent, greatest(at, %(since)s), least(forced_until, next_at, %(until)s)
          FROM (SELECT agents.agent, entry.at, entry.after ->> 'forced' AS forced,
                       (entry.after ->> 'forced_until')::timestamptz AS forced_until,
                       lead(entry.at) OVER (PARTITION BY agents.agent ORDER BY entry.at, entry.id) AS next_at
                  FROM unnest(%(agents)s::text[]) AS agents (agent)
                 CROSS JOIN LATERAL (
                       (SELECT id, at, after FROM orders_auditentry
                         WHERE target = 'agent ' || agents.agent AND at < %(since)s AND after ? 'forced'
                         ORDER BY at DESC LIMIT 1)
                        UNION ALL
                       (SELECT id, at, after FROM orders_auditentry
                         WHERE target = 'agent ' || agents.agent AND at >= %(since)s AND at < %(until)s
                           AND after ? 'forced')) AS entry) AS entries
         WHERE forced = 'open' AND least(forced_until, next_at, %(until)s) > greatest(at, %(since)s)
         ORDER BY at
        """,
        {"agents": list(agents), "since": since, "until": until},
    )
    forced: dict[str, list[Outage]] = {}
    for agent, began, ended in rows:
        forced.setdefault(agent, []).append(Outage(began=began, ended=ended))
    return forced


def _merged(outages: Sequence[Outage]) -> list[Outage]:
    """The same times, the earliest first, with those that overlap or touch made one, so that none counts twice."""
    merged: list[Outage] = []
    for outage in sorted(outages, key=lambda each: each.began):
        if merged and outage.began <= merged[-1].ended:
            merged[-1] = Outage(began=merged[-1].began, ended=max(merged[-1].ended, outage.ended))
        else:
            merged.append(outage)
    return merged


def open_seconds_of(series: AgentSeries) -> float:
    """For how long the circuit was open in the whole range, in seconds."""
    return sum((outage.ended - outage.began) / timedelta(seconds=1) for outage in series.outages)
