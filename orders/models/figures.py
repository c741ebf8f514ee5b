"""Figures over time: what was called, and how orders went minute by minute and hour by hour."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from orders.models.choices import choices
from orders.vocabulary import CallOutcome, FigureSpan

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


AGE_BOUNDS = (
    *(0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 45.0),
    *(60.0, 90.0, 120.0, 180.0, 300.0, 450.0, 600.0, 900.0, 1_200.0, 1_800.0, 2_700.0),
    *(3_600.0, 5_400.0, 7_200.0, 10_800.0, 14_400.0, 21_600.0, 28_800.0, 43_200.0, 64_800.0),
    *(86_400.0, 129_600.0, 172_800.0, 259_200.0, 432_000.0, 604_800.0, 1_209_600.0, 2_592_000.0),
)
"""The lower bounds of all buckets but the first in histograms of how long orders took or have waited, in seconds. An
hour, 8 hours, a day and 7 days are among them, so that a histogram says exactly how many have waited that long."""
AGES = len(AGE_BOUNDS) + 1


class OrderFigures(models.Model):
    """What became of orders in one minute or one hour. `orders.engine.figures` writes each once.

    A minute in which nothing could be measured has no row. `took` are the orders that were processed, by how long they
    had taken since they were placed; `unfinished` are those that had not ended at its end, queued ones included, by how
    long ago they were placed. Both are histograms by AGE_BOUNDS.
    """

    id = models.BigAutoField(primary_key=True)
    span = models.CharField(max_length=6, choices=choices(FigureSpan))
    began = models.DateTimeField()
    minutes = models.PositiveSmallIntegerField(default=1, help_text="measured minutes that it sums up")
    placed = models.PositiveIntegerField(help_text="orders that were inserted from the submission queue")
    processed = models.PositiveIntegerField()
    failed = models.PositiveIntegerField(help_text="times that an order went into Error")
    cancelled = models.PositiveIntegerField(help_text="orders whose effects were compensated")
    took = ArrayField(models.IntegerField())
    unfinished = ArrayField(models.IntegerField())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["span", "began"], name="one_row_of_figures_per_span"),
            models.CheckConstraint(
                condition=Q(took__len=AGES, unfinished__len=AGES), name="figures_have_every_age"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.span} {self.began:%Y-%m-%d %H:%M}"


class AgentFigures(models.Model):
    """An agent's tally as it stood at the end of one minute or one hour. Two in a row say what came between.

    A minute that is filled in later has none, since a tally does not say what it was.
    """

    id = models.BigAutoField(primary_key=True)
    span = models.CharField(max_length=6, choices=choices(FigureSpan))
    began = models.DateTimeField()
    agent = models.CharField(max_length=60)
    calls = models.BigIntegerField()
    errors = models.BigIntegerField(help_text="calls that ended otherwise than well or declined")
    buckets = ArrayField(models.BigIntegerField(), help_text="calls by duration, by LATENCY_BOUNDS")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["span", "began", "agent"], name="one_row_of_agent_figures_per_span"
            )
        ]

    def __str__(self) -> str:
        return f"{self.agent} {self.span} {self.began:%Y-%m-%d %H:%M}"


class CauseFigures(models.Model):
    """How many alerts of one cause opened in one minute or one hour, if any did."""

    id = models.BigAutoField(primary_key=True)
    span = models.CharField(max_length=6, choices=choices(FigureSpan))
    began = models.DateTimeField()
    group = models.ForeignKey(
        "AlertGroup", on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    opened = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["group", "span", "began"], name="one_row_of_cause_figures_per_span"
            )
        ]

    def __str__(self) -> str:
        return f"{self.group_id} {self.span} {self.began:%Y-%m-%d %H:%M}: {self.opened}"
