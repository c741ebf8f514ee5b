"""What pages show of figures over time: the charts, their tables and the range that the url names."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.http import HttpRequest

from orders.console import figures_chart
from orders.console.figures_chart import Measure
from orders.selectors.desk.agent_figures import AgentSeries, agent_series, open_seconds_of
from orders.selectors.desk.agents import AgentStatus
from orders.selectors.desk.cause_figures import cause_series
from orders.selectors.desk.figures import DEFAULT, RANGES, OrderSeries, Range, order_series
from orders.selectors.desk.funnel import AtStep, orders_at_steps
from orders.selectors.desk.workflows import Graph
from orders.wording import units

FLOWS = (
    ("placed", "Placed", "idle"),
    ("processed", "Processed", "good"),
    ("failed", "Failed", "bad"),
    ("cancelled", "Cancelled", "warn"),
)
WAITS = (
    ("over_1h", "over 1 h", "idle"),
    ("over_8h", "over 8 h", "busy"),
    ("over_24h", "over 24 h", "warn"),
    ("over_7d", "over 7 d", "bad"),
)
TIMES = (("p50", "Median (p50)", "busy"), ("p95", "95th percentile (p95)", "warn"))
RANGE_LABELS = [
    ("1h", "1 h", "The last hour"),
    ("8h", "8 h", "The last 8 hours"),
    ("24h", "24 h", "The last 24 hours"),
    ("7d", "7 d", "The last 7 days"),
    ("30d", "30 d", "The last 30 days"),
]
"""Each range by its name, with what its link shows and what it says to people who do not see it."""
CALLS = (("calls", "Calls", "busy"), ("errors", "Errors", "bad"))


def range_of(request: HttpRequest) -> Range:
    """The range that the url names, or else the shortest."""
    return RANGES.get(request.GET.get("range", DEFAULT), RANGES[DEFAULT])


def order_figures(request: HttpRequest, *, now: datetime) -> Mapping[str, Any]:
    """The context of `console/figures/orders.html`."""
    series = order_series(range_of(request), now=now)
    return {
        "ranges": RANGE_LABELS,
        "figures": series,
        "flow_chart": _chart(series, FLOWS, units.number, is_whole=True),
        "wait_chart": _chart(series, WAITS, units.number, is_whole=True),
        "time_chart": _chart(series, TIMES, units.short_duration),
    }


def call_figures(request: HttpRequest, agents: Sequence[AgentStatus], *, now: datetime) -> Mapping[str, Any]:
    """The context of `console/figures/calls.html`: the charts are attributes of each agent's figures."""
    shown = range_of(request)
    all_series = agent_series(shown, agents=[agent.name for agent in agents], now=now)
    return {
        "ranges": RANGE_LABELS,
        "figures": {"range": shown},
        "calls": {
            series.agent: {
                "series": series,
                "open_seconds": open_seconds_of(series),
                "call_chart": _chart(series, CALLS, units.number, is_whole=True),
                "latency_chart": _chart(series, TIMES, units.short_duration),
            }
            for series in all_series
        },
    }


def cause_figures(groups: Sequence[int], *, now: datetime, least: Mapping[int, int]) -> Mapping[str, Any]:
    """The context of `console/figures/spark.html`: the last day of each of these alert groups.

    `least` is how many alerts of each are known to have opened in it: the figures are up to a minute behind.
    """
    return {
        "sparks": {
            series.group_id: {
                "series": series,
                "line": figures_chart.spark([step.opened for step in series.steps]),
                "opened": max(sum(step.opened or 0 for step in series.steps), least.get(series.group_id, 0)),
                "is_measured": any(step.opened is not None for step in series.steps),
            }
            for series in cause_series(RANGES["24h"], groups=groups, now=now)
        }
    }


def funnels(graphs: Sequence[Graph], *, now: datetime) -> Mapping[str, Any]:
    """The context of `console/figures/funnel.html`: each step with a bar for its orders; no rows if no step has any."""
    at_steps = orders_at_steps(now=now)
    of_graphs = {graph.key: at_steps.get((graph.name, graph.version), {}) for graph in graphs}
    return {
        "funnels": {
            graph.key: list(_rows(graph, of_graphs[graph.key])) if of_graphs[graph.key] else []
            for graph in graphs
        }
    }


def _rows(graph: Graph, at_steps: Mapping[str, AtStep]) -> Iterator[Mapping[str, Any]]:
    most = max((at.here for at in at_steps.values()), default=0) or 1
    for node in graph.nodes:
        at = at_steps.get(node.name, AtStep())
        yield {
            "name": node.name,
            "at": at,
            "here_width": round(100 * (at.here - at.failed) / most, 1),
            "failed_width": round(100 * at.failed / most, 1),
        }


def _chart(
    series: OrderSeries | AgentSeries,
    shown: Sequence[tuple[str, str, str]],
    say: Callable[[float], str],
    *,
    is_whole: bool = False,
) -> figures_chart.Chart:
    measures: list[Measure] = [
        (title, tone, [None if step.counts is None else getattr(step.counts, name) for step in series.steps])
        for name, title, tone in shown
    ]
    return figures_chart.draw(
        began=[step.began for step in series.steps],
        step=series.range.step,
        measures=measures,
        missing=[step.counts is None for step in series.steps],
        say=say,
        is_whole=is_whole,
        bands=[(outage.began, outage.ended) for outage in getattr(series, "outages", ())],
    )
