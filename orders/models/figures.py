"""Figures over time: what was called, and how orders went minute by minute and hour by hour."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from orders.models.choices import choices
from orders.vocabulary import CallOutcome

LATENCY_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""The upper bounds of the histograms of calls, in seconds, each included in its bucket. One more bucket takes what is
longer. The stored counts are in this order, so a change of the bounds needs a migration."""
BUCKETS = len(LATENCY_BOUNDS) + 1


class AgentTally(models.Model):
    """How many calls an agent has made with one outcome, by all of its hosts since the first of them. It only grows.

    Hosts add what is new with their heartbeats (`orders.engine.agent_host.tallies`). `buckets` are the calls by their
    duration, each in one bucket, and `seconds` is the sum of their durations.
    """

    id = models.BigAutoField(primary_key=True)
    agent = models.CharField(max_length=60)
    outcome = models.CharField(max_length=12, choices=choices(CallOutcome))
    calls = models.BigIntegerField()
    buckets = ArrayField(models.BigIntegerField(), help_text="calls by duration, by LATENCY_BOUNDS")
    seconds = models.FloatField(help_text="how long the calls took together")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "outcome"], name="one_tally_per_outcome"),
            models.CheckConstraint(condition=Q(buckets__len=BUCKETS), name="a_tally_has_every_bucket"),
        ]

    def __str__(self) -> str:
        return f"{self.agent} {self.outcome}: {self.calls}"
