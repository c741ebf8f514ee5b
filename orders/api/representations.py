"""What the API sends to clients: the selectors' dataclasses as JSON."""

from collections.abc import Container, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, ClassVar
from uuid import UUID

from django.urls import get_script_prefix, reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from orders.api.fields import shared
from orders.api.own_words import SentMetadata
from orders.api.rendering import Member, members_of, write_members
from orders.business import registry
from orders.business.words import Situation
from orders.fields.order_numbers import spoken_number
from orders.selectors.customer_order import CustomerOrder
from orders.selectors.listed_orders import OrderSummary
from orders.vocabulary import EventKind, Goal, ProcessState, Reason, StepStatus, WaitingFor
from orders.wording.customers.stages import STATES

EXPANDED = ("events", "progress")
"""What is returned of an order only if it is asked for."""
NOBODY = UUID(int=0)
"""Stands for an order's id in a path."""
_NOBODY = str(NOBODY)


class Out(serializers.Serializer[Any]):
    """A JSON object in a response. Fields named in `sparse` are omitted when they have no value.

    Fields named in `added` are no part of the object itself: they are only described, and whoever sends them adds them.
    """

    sparse: ClassVar[tuple[str, ...]] = ()
    added: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def render(cls, instance: Any) -> dict[str, Any]:
        """The JSON object."""
        rendered: dict[str, Any] = shared(cls).to_representation(instance)
        return rendered

    @classmethod
    def member_names(cls) -> list[str]:
        """The names of all its members."""
        return list(cls._declared_fields)

    @classmethod
    def members(cls, names: Container[str]) -> Sequence[Member]:
        """Those of its own members that have these names, for `write_members`."""
        return [member for member in shared(cls)._members if member.name in names]

    def to_representation(self, instance: Any) -> dict[str, Any]:
        return write_members(self._members, instance)

    @cached_property
    def _members(self) -> Sequence[Member]:
        own = (field for name, field in self.fields.items() if name not in self.added)
        return members_of(own, sparse=self.sparse)


class SpokenNumber(serializers.CharField):
    """The number of the order whose id is its source, as people say it."""

    def to_representation(self, value: Any) -> str:
        return spoken_number(value)


class StepName(serializers.CharField):
    """The name of a step. The document lists those of today's workflows, as others may bring others."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """What the OpenAPI document adds."""
        return {"x-extensible-enum": step_names()}


def step_names() -> list[str]:
    """The names of the steps of all orders that clients may place."""
    return sorted({name for name, _ in open_steps()})


def open_steps() -> list[tuple[str, str]]:
    """The steps of all orders that clients may place: the name of each, and its word for being declined."""
    open_kinds = {kind.name for kind in registry.kinds() if kind.is_open_to_clients}
    workflows = [workflow for workflow in registry.workflows().values() if workflow.name in open_kinds]
    return [(step.name, step.declined_as) for workflow in workflows for step in workflow.steps]


class MoneyOut(Out):
    """An amount in minor units: `{"amount": 3900, "currency": "EUR"}` is €39.00."""

    amount = serializers.IntegerField()
    currency = serializers.CharField()


class LinkOut(Out):
    """The URL of the object itself."""

    self = serializers.CharField()


class OrderLinksOut(LinkOut):
    """The URLs of an order, its history, what its customer reads of it, and its stream. The others are there
    while what they change can be changed: `corrections` for anything that the order's client can correct now."""

    events = serializers.CharField()
    progress = serializers.CharField()
    stream = serializers.CharField()

    def get_fields(self) -> dict[str, Any]:
        names = ["corrections", *(name for kind in registry.kinds() for name in kind.client_links)]
        return {**super().get_fields(), **{name: serializers.CharField(required=False) for name in names}}


class FailureOut(Out):
    """Why something failed. `waits_for` says who can fix it, for example `customer`; then there may be a `detail`, as
    the service said it."""

    sparse = ("waits_for", "detail")

    code = serializers.CharField()
    message = serializers.CharField()
    waits_for = serializers.CharField(required=False)
    detail = serializers.DictField(required=False)

    def to_representation(self, instance: Mapping[str, str]) -> dict[str, Any]:
        return dict(instance)


class CorrectableOut(Out):
    """What a client can correct of an order now: why `step` failed, and the names of the `fields` that can be
    changed. `until` is null where there is no deadline."""

    step = StepName()
    error = FailureOut()
    fields = serializers.ListField(child=serializers.CharField())  # type: ignore[assignment]
    until = serializers.DateTimeField(allow_null=True)


class LineOut(Out):
    """A line of an order, with the product's title and price when the order was placed."""

    sku = serializers.CharField()
    title = serializers.CharField()
    quantity = serializers.IntegerField()
    unit_price = MoneyOut()


class StepOut(Out):
    """A step of an order. `not_before` is present while the step waits for a retry, `error` after a failure."""

    sparse = ("not_before", "error")

    name = StepName()
    state = serializers.ChoiceField(choices=list(StepStatus))
    attempts = serializers.IntegerField()
    complete_by = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    completed_at = serializers.DateTimeField(allow_null=True)
    not_before = serializers.DateTimeField(required=False)
    error = FailureOut(required=False)


class OrderSummaryOut(Out):
    """An order in a list. `lines` and `steps` are present if `expand` or `fields` asks for them.

    `number` is how people say which order it is, `workflow` is its kind, `title` says what it is, and `subject`,
    `reference` and `metadata` are the client's own. `error` is present if its submission was set aside. `version` is
    the one in its ETag, and the ID of an event of its stream.

    `waiting_for` says whom or what it waits for, null while it waits for nothing. If its steps wait for several, it is
    the first of these: `customer`, a step was declined, see `links`; `operator`, it is in Error or a decision is open;
    `outside`, an event or a later answer; `delay`, a time that the workflow lets pass; `retry`, the next try of a step;
    `agent`, a service that cannot be used at present. `waiting_until` is the deadline: after it the order goes on
    without what it waited for, which means that an order that its customer has not resolved is cancelled. It is null
    where there is no deadline.
    """

    sparse = ("error", "lines", "steps")

    id = serializers.UUIDField()
    number = SpokenNumber(source="id")
    workflow = serializers.CharField()
    subject = serializers.CharField(allow_blank=True)
    title = serializers.CharField(allow_blank=True)
    version = serializers.CharField()
    reference = serializers.CharField(allow_blank=True)
    metadata = SentMetadata()
    state = serializers.ChoiceField(choices=list(ProcessState))
    goal = serializers.ChoiceField(choices=list(Goal))
    waiting_for = serializers.ChoiceField(choices=list(WaitingFor), allow_null=True)
    waiting_until = serializers.DateTimeField(allow_null=True)
    failure_count = serializers.IntegerField()
    complete_by = serializers.DateTimeField(allow_null=True)
    placed_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    total = MoneyOut(allow_null=True)
    lines = LineOut(many=True, required=False)
    steps = StepOut(many=True, required=False)
    error = FailureOut(required=False)
    links = serializers.SerializerMethodField()

    @extend_schema_field(OrderLinksOut)
    def get_links(self, order: CustomerOrder | OrderSummary) -> Mapping[str, str]:
        links = order_links(order.id)
        if order.open_steps and (kind := registry.find_kind(order.workflow)):
            fields = frozenset().union(*order.open_steps.values())
            links["corrections"] = order_link("order-corrections", order.id)
            links |= {
                name: order_link(link.url, order.id)
                for name, link in kind.client_links.items()
                if fields.issuperset(link.fields)
            }
        return links


class StageOut(Out):
    """A stage of an order: `at` is when it was done, also if it was reversed later."""

    title = serializers.CharField()
    state = serializers.ChoiceField(choices=list(STATES))
    at = serializers.DateTimeField(allow_null=True)


class ProgressOut(Out):
    """What an order's customer reads of it, in the words of its kind and the language that you ask for.

    `situation` says the same in one fixed word, and `status` in one or two for people. `declined_until` is until when
    the customer may change something, such as how to pay; null while nothing waits for that.
    """

    situation = serializers.ChoiceField(choices=list(Situation))
    status = serializers.CharField(source="word")
    headline = serializers.CharField()
    sentences = serializers.ListField(child=serializers.CharField())
    stages = StageOut(many=True)
    is_late = serializers.BooleanField()
    may_cancel = serializers.BooleanField()
    declined_until = serializers.DateTimeField(allow_null=True)


class EventOut(Out):
    """An event in an order's history. `error` is present where a call or a step failed or a step was declined,
    `waiting_until` if the order waits since then and that has a deadline, and `reason` if its cancellation was
    requested."""

    sparse = ("error", "waiting_until", "reason")

    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    kind = serializers.ChoiceField(choices=list(EventKind))
    step = StepName(allow_blank=True, help_text="Empty if it is about the whole order.")
    attempt = serializers.IntegerField()
    error = FailureOut(required=False)
    waiting_until = serializers.DateTimeField(required=False)
    reason = serializers.ChoiceField(choices=list(Reason), required=False)


def page_of(item: type[Out], description: str) -> type[Out]:
    """The serializer of a page of such items. `next` is the URL of the following page, or null."""
    members = {
        "__doc__": description,
        "__module__": item.__module__,
        "results": item(many=True),
        "next": serializers.CharField(allow_null=True),
    }
    return type(f"{item.__name__.removesuffix('Out')}PageOut", (Out,), members)


OrderPageOut = page_of(
    OrderSummaryOut, "A page of orders, newest first. It may have fewer than you asked for."
)
EventPageOut = page_of(EventOut, "A page of an order's history, oldest first.")


def of_kinds(*, is_quote: bool = False) -> dict[str, Any]:
    """The members that only some kinds of order have, where an order or a quote has something of them."""
    return {
        name: member(source=f"client_values.{name}", required=False)
        for kind in registry.kinds()
        if kind.is_open_to_clients
        for name, member in {**kind.client_members(), **({} if is_quote else kind.order_members())}.items()
    }


class OrderOut(OrderSummaryOut):
    """An order and its progress, with the members of its summary. `correctable` is what you can correct of it now.
    `events` and `progress` are present if `expand` or `fields` asks for them. The members that are not required beside
    these are there if its kind of order has them."""

    added = EXPANDED

    lines = LineOut(many=True)
    steps = StepOut(many=True)
    correctable = CorrectableOut(many=True)
    events = EventPageOut(required=False)
    progress = ProgressOut(required=False)

    @classmethod
    def member_names(cls) -> list[str]:
        return [*super().member_names(), *of_kinds()]

    def get_fields(self) -> dict[str, Any]:
        return {**super().get_fields(), **of_kinds()}


def order_url(order_id: UUID) -> str:
    """The path of an order."""
    return order_link("order", order_id)


def order_link(name: str, order_id: UUID) -> str:
    """The path of an order's page of the API that has this name."""
    return _pattern(name, get_script_prefix()).replace(_NOBODY, str(order_id))


def order_links(order_id: UUID) -> dict[str, str]:
    """The paths of all that an order always has."""
    number = str(order_id)
    return {
        name: pattern.replace(_NOBODY, number) for name, pattern in _patterns(get_script_prefix()).items()
    }


@cache
def _patterns(prefix: str) -> Mapping[str, str]:
    names = {"self": "order", **{name: f"order-{name}" for name in ("events", "progress", "stream")}}
    return {name: _pattern(url, prefix) for name, url in names.items()}


@cache
def _pattern(name: str, _prefix: str) -> str:
    """The path for no order in particular, with the server's own prefix. Making a path takes Django longer than all
    else that is written of an order."""
    return reverse(f"api:{name}", args=[NOBODY])
