"""What the API sends to operators about figures over time."""

from rest_framework import serializers

from orders.api.representations import Out, StepName
from orders.selectors.desk.figures import RANGES


class SeriesOut(Out):
    """A range of time, cut into steps of `step_seconds`. A step whose figures are null was not measured."""

    range = serializers.ChoiceField(choices=list(RANGES), source="range.name")
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    step_seconds = serializers.FloatField(source="range.step_seconds")


class OrderCountsOut(Out):
    """How many orders were taken from the submission queue, processed, put into Error and cancelled in a step.

    `over_*` had waited for at least an hour, 8 hours, 24 hours and 7 days at its end. `p50` and `p95` are how many
    seconds orders take to be processed, over the `measured` that were processed in the step or had not ended, which
    count with the time that they had waited. They are read from a histogram, and null if nothing was counted.
    """

    placed = serializers.IntegerField()
    processed = serializers.IntegerField()
    failed = serializers.IntegerField()
    cancelled = serializers.IntegerField()
    over_1h = serializers.IntegerField()
    over_8h = serializers.IntegerField()
    over_24h = serializers.IntegerField()
    over_7d = serializers.IntegerField()
    measured = serializers.IntegerField()
    p50 = serializers.FloatField(allow_null=True)
    p95 = serializers.FloatField(allow_null=True)


class OrderStepOut(Out):
    """A step. Of it, so many minutes were measured."""

    began = serializers.DateTimeField()
    minutes = serializers.IntegerField()
    counts = OrderCountsOut(allow_null=True)


class OrderSeriesOut(SeriesOut):
    """What became of orders, oldest first."""

    steps = OrderStepOut(many=True)


class FunnelStepOut(Out):
    """The orders at a step, counted up to 1,000 of each kind, and for how many seconds half of them have been there at
    most, and the longest of them. `failed` of them are in Error; `cancelled` were lost there in the last 24 hours."""

    workflow = serializers.CharField()
    version = serializers.IntegerField()
    step = StepName()
    here = serializers.IntegerField()
    median_seconds = serializers.FloatField(allow_null=True)
    oldest_seconds = serializers.FloatField(allow_null=True)
    failed = serializers.IntegerField()
    cancelled = serializers.IntegerField()


class FunnelOut(Out):
    """The steps at which there are orders, or were orders that were cancelled."""

    results = FunnelStepOut(many=True)


class CallCountsOut(Out):
    """How many calls an agent made in a step, how many failed (neither well nor declined), and how many seconds half of
    them took at most, and 95%."""

    calls = serializers.IntegerField()
    failed = serializers.IntegerField(source="errors")
    p50 = serializers.FloatField(allow_null=True)
    p95 = serializers.FloatField(allow_null=True)


class CallStepOut(Out):
    """A step. The agent's circuit was open for `open_seconds` of it."""

    began = serializers.DateTimeField()
    counts = CallCountsOut(allow_null=True)
    open_seconds = serializers.FloatField()


class OutageOut(Out):
    """A time within the range in which the agent's circuit was open, by its calls or because an operator forced it."""

    began = serializers.DateTimeField()
    ended = serializers.DateTimeField()


class AgentSeriesOut(SeriesOut):
    """The calls of an agent, oldest first."""

    agent = serializers.CharField()
    steps = CallStepOut(many=True)
    outages = OutageOut(many=True)


class AgentSeriesListOut(Out):
    """The calls of all agents, by the agents' names."""

    results = AgentSeriesOut(many=True)


class CauseStepOut(Out):
    """How many alerts opened in a step, or null if it was not measured."""

    began = serializers.DateTimeField()
    opened = serializers.IntegerField(allow_null=True)


class CauseSeriesOut(SeriesOut):
    """The alerts of a group, oldest first."""

    group = serializers.IntegerField(source="group_id")
    steps = CauseStepOut(many=True)


class CauseSeriesListOut(Out):
    """The alerts of each group that has open ones."""

    results = CauseSeriesOut(many=True)
