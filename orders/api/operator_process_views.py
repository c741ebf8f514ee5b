"""The operators' REST API of the processes of each role."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api.operator_documentation import DENIED, TAG
from orders.api.operator_views import OperatorView
from orders.api.problems import OPERATION_PROBLEMS
from orders.api.representations import Out
from orders.selectors.database_clock import now
from orders.selectors.desk.processes import BacklogName, read_roles, releases_of
from orders.wording.processes import show_roles


class RunVersionOut(Out):
    """A version of a workflow that a process runs. Two releases that differ in it have different fingerprints."""

    workflow = serializers.CharField()
    version = serializers.IntegerField()
    fingerprint = serializers.CharField()

    def to_representation(self, instance: tuple[str, int, str]) -> dict[str, Any]:
        return dict(zip(("workflow", "version", "fingerprint"), instance, strict=True))


class ProcessOut(Out):
    """A process of a role. It is alive if its last heartbeat is recent, and completed its last pass at `progressed_at`.
    `release` is that of its code; empty if it is from before releases were recorded.

    `troubles` are the codes of what it says is wrong. A scheduler has claimed `orders`, counted up to 10,001 for all
    of them. An agent host runs `agents`, holds `requests`, and has `in_flight` of at most `capacity` calls under way.
    `leads` is true for the leading supervisor.
    """

    name = serializers.CharField()
    release = serializers.CharField()
    started_at = serializers.DateTimeField()
    seen_at = serializers.DateTimeField()
    progressed_at = serializers.DateTimeField(allow_null=True)
    alive = serializers.BooleanField()
    troubles = serializers.ListField(child=serializers.CharField())
    versions = RunVersionOut(many=True)
    leads = serializers.BooleanField()
    orders = serializers.IntegerField()
    requests = serializers.IntegerField()
    in_flight = serializers.IntegerField()
    capacity = serializers.IntegerField()
    agents = serializers.ListField(child=serializers.CharField())


class BacklogOut(Out):
    """What waits for a role: how many, counted up to 100,001 (`overdue`: 10,001), and for how many seconds the oldest
    has waited, or the most overdue been late; null if there is none."""

    name = serializers.ChoiceField(choices=list(BacklogName))
    depth = serializers.IntegerField()
    oldest_seconds = serializers.FloatField(allow_null=True)


class RoleOut(Out):
    """A role with its processes, the newest heartbeat first. `concerns` are what is wrong with it, the worst first."""

    name = serializers.CharField(source="status.name")
    is_missing = serializers.BooleanField(
        source="status.is_missing", help_text="Whether no process of it is alive."
    )
    concerns = serializers.ListField(child=serializers.CharField())
    backlogs = BacklogOut(many=True, source="status.backlogs")
    processes = ProcessOut(many=True, source="status.processes")


class ReleaseOut(Out):
    """A release that live processes run, how many of all roles, and when the first of those started."""

    name = serializers.CharField()
    number = serializers.IntegerField()
    since = serializers.DateTimeField()


class RoleListOut(Out):
    """All roles, in the order in which an order meets them. `releases` are those that their processes run; the one that
    came last is first."""

    results = RoleOut(many=True)
    releases = ReleaseOut(many=True)


class Processes(OperatorView):
    """The processes."""

    @extend_schema(
        operation_id="list_processes",
        summary="List the processes of each role, with what they hold and what waits for them",
        tags=TAG,
        responses=RoleListOut,
        extensions={OPERATION_PROBLEMS: [DENIED]},
    )
    def get(self, request: Request) -> Response:
        roles = read_roles(now=now())
        return Response(RoleListOut.render({"results": show_roles(roles), "releases": releases_of(roles)}))
