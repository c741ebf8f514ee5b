"""The metric of remote calls: a histogram for each agent and outcome, which only grows."""

from collections.abc import Sequence
from itertools import accumulate

from prometheus_client.core import HistogramMetricFamily, Metric

from orders.models import AgentTally
from orders.models.figures import LATENCY_BOUNDS


def describe_calls(tallies: Sequence[AgentTally]) -> Metric:
    """All calls of all agent hosts, by agent, outcome and duration. Prometheus' buckets include the smaller ones."""
    family = HistogramMetricFamily(
        "sasweb_agent_call_duration_seconds",
        "How long remote calls took, by agent and outcome, of all agent hosts since the first of them.",
        labels=("agent", "outcome"),
    )
    bounds = [*map(str, LATENCY_BOUNDS), "+Inf"]
    for tally in tallies:
        buckets = [
            (bound, float(calls)) for bound, calls in zip(bounds, accumulate(tally.buckets), strict=True)
        ]
        family.add_metric([tally.agent, tally.outcome], buckets, tally.seconds)
    return family
