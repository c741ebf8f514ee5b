"""The operators' REST API of bulk actions: acts on many orders, in waves."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api import operator_bulk_documentation as documentation
from orders.api import operator_bulk_representations as representations
from orders.api.operator_bulk_requests import (
    ACTIONS,
    PREVIEWS,
    BulkActionQuery,
    BulkItemQuery,
    read_one_of,
    selection_of,
)
from orders.api.operator_order_edit_views import wrong_values_reported
from orders.api.operator_problems import approval_problem, busy_problem, count_problem
from orders.api.operator_requests import ReasonIn
from orders.api.operator_views import (
    OperatorView,
    action_created,
    actor,
    render_action,
)
from orders.api.paging import read_query, render_page
from orders.api.problems import ProblemError
from orders.api.requests import read_idempotency_key
from orders.fields.numbers import LARGEST_ID
from orders.selectors.database_clock import now
from orders.selectors.desk import bulk, bulk_selection
from orders.selectors.desk.bulk_preview import preview
from orders.selectors.desk.bulk_selection import Selection
from orders.selectors.desk.supervisor import retry_limits
from orders.selectors.paging import Page
from orders.services.operators import bulk as bulk_services
from orders.services.operators import bulk_control
from orders.services.operators.bulk_editing import preview_edit
from orders.services.refund_approval import ApprovalNeededError
from orders.vocabulary import TokenScope


class BulkView(OperatorView):
    """A view that acts in bulk, and records what the services refuse."""

    @contextmanager
    def recorded(self, request: Request, about: dict[str, Any]) -> Iterator[None]:
        """Turns what the services raise into problems, and records it under what the act is `about`."""
        try:
            yield
        except bulk_control.NoSuchActionError as error:
            raise NotFound from error
        except bulk_services.CountMismatchError as error:
            self._record_refusal(request, about, why="The number of orders was not confirmed.")
            raise count_problem(error) from error
        except bulk_services.BusyOrdersError as error:
            self._record_refusal(request, about, why=str(error))
            raise busy_problem(error) from error
        except ApprovalNeededError as error:
            self._record_refusal(request, about, why=str(error))
            raise approval_problem(error) from error
        except REFUSALS as error:
            self._record_refusal(request, about, why=str(error))
            raise ProblemError("act_refused", str(error)) from error


REFUSALS = (
    bulk_services.NothingToDoError,
    bulk_services.TooManyError,
    bulk_services.ImpossibleActionError,
    bulk_control.TooLateError,
)


class BulkActions(BulkView):
    """The bulk actions, and a new one."""

    scope = TokenScope.COMPENSATE

    @extend_schema(**documentation.LIST_ACTIONS)
    def get(self, request: Request) -> Response:
        query = read_query(BulkActionQuery, request)
        page = bulk.action_page(after=query["cursor"], now=now(), limit=query["page_size"])
        actions = Page(items=page.actions, has_more=page.after is not None)
        return render_page(
            representations.BulkActionPageOut, request, actions, key=lambda progress: progress.action.pk
        )

    @extend_schema(**documentation.CREATE_ACTION)
    def post(self, request: Request) -> Response:
        values = read_one_of(ACTIONS, request.data)
        key = read_idempotency_key(request)
        with self.recorded(request, {"kind": values["kind"]}):
            action = _create(request, values, key)
        if key is not None and action.query["request"] != _fingerprint(request):
            detail = "The key was used for another bulk action in the last hour. Use a new key for a new one."
            raise ProblemError("idempotency_key_reused", detail)
        return action_created(action)


def _create(request: Request, values: dict[str, Any], key: str | None) -> Any:
    return bulk_services.create(
        **action_fields(request, values),
        actor=actor(request),
        reason=values["reason"],
        typed_count=values.get("count"),
        most=bulk_selection.MOST,
        token=f"{request.user.pk}:{key}" if key is not None else "",
        leave_out_busy=values["leave_out_busy"],
        predecessor=values.get("failed_of"),
    )


def action_fields(request: Request, values: dict[str, Any]) -> dict[str, Any]:
    """What a bulk action is to do, as `bulk.create` takes it."""
    selection = _selection(values)
    return {
        "kind": selection.kind,
        "order_ids": bulk_selection.orders_of(selection, retry_limits=retry_limits(), now=now()),
        "selection": selection.description,
        "group": selection.group,
        "query": {
            **selection.query,
            **({"changes": values["changes"]} if "changes" in values else {}),
            "request": _fingerprint(request),
        },
        "waves": [*values["waves"], 0],
        "stop_share": values["stop_percent"] / 100,
        "rate": values["rate"],
    }


def _fingerprint(request: Request) -> str:
    """What tells this request's body from another one."""
    return sha256(json.dumps(request.data, sort_keys=True).encode()).hexdigest()


def _selection(values: dict[str, Any]) -> Selection:
    selection = selection_of(values)
    if selection is None:
        raise bulk_services.NothingToDoError(
            f"There is no alert group {values['group']}, so there is nothing to do."
        )
    return selection


class BulkActionPreview(OperatorView):
    """What a bulk action would do."""

    @extend_schema(**documentation.PREVIEW_ACTION)
    def post(self, request: Request) -> Response:
        values = read_one_of(PREVIEWS, request.data)
        try:
            selection = _selection(values)
        except bulk_services.NothingToDoError as error:
            raise ProblemError("act_refused", str(error)) from error
        seen = preview(selection, retry_limits=retry_limits(), now=now())
        edit = None
        if "changes" in values:
            order_ids = bulk_selection.orders_of(selection, retry_limits=retry_limits(), now=now())
            with wrong_values_reported():
                edit = preview_edit(order_ids, values["changes"])
        return Response(representations.BulkPreviewOut.render(representations.previewed(seen, edit)))


class BulkActionOrders(OperatorView):
    """The orders of a bulk action."""

    @extend_schema(**documentation.LIST_ITEMS)
    def get(self, request: Request, action_id: int) -> Response:
        query = read_query(BulkItemQuery, request)
        action_id = min(action_id, LARGEST_ID)
        if bulk.find_action(action_id, now=now()) is None:
            raise NotFound
        page = bulk.item_page(
            action_id, state=query["state"], after=query["cursor"], limit=query["page_size"]
        )
        items = Page(items=page.items, has_more=page.after is not None)
        return render_page(representations.BulkItemPageOut, request, items, key=lambda item: item.position)


class BulkActionAct(BulkView):
    """An act on a bulk action. `act` is the service."""

    act: ClassVar[Callable[..., Any]]

    def post(self, request: Request, action_id: int) -> Response:
        values = ReasonIn.read(request.data)
        action_id = min(action_id, LARGEST_ID)
        with self.recorded(request, {"action_id": action_id}):
            self.act(action_id=action_id, actor=actor(request), reason=values["reason"])
        return render_action(action_id, status=200)


@extend_schema_view(post=extend_schema(**documentation.PAUSE_ACTION))
class BulkActionPause(BulkActionAct):
    """Pauses a bulk action."""

    act = staticmethod(bulk_control.pause)


@extend_schema_view(post=extend_schema(**documentation.RESUME_ACTION))
class BulkActionResume(BulkActionAct):
    """Resumes a bulk action, so that it acts on many orders again."""

    scope = TokenScope.COMPENSATE
    act = staticmethod(bulk_control.resume)


@extend_schema_view(post=extend_schema(**documentation.STOP_ACTION))
class BulkActionStop(BulkActionAct):
    """Stops a bulk action."""

    act = staticmethod(bulk_control.stop)


@extend_schema_view(post=extend_schema(**documentation.UNDO_ACTION))
class BulkActionUndo(BulkActionAct):
    """Undoes a bulk action."""

    act = staticmethod(bulk_control.undo)
