"""The feed of changes: `GET changes`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api import requests
from orders.api.feed_cursors import LATEST, FeedCursor, FeedCursorField, cursor_at
from orders.api.paging import PageQuery, read_query, waits_for
from orders.api.problems import OPERATION_PROBLEMS, ProblemError
from orders.api.representations import EventOut, OrderSummaryOut, Out
from orders.api.waiting import WaitingView, hold
from orders.selectors import changes
from orders.selectors.changes import Change, FeedPoint, FeedReader, Mark
from orders.selectors.order_lists import order_summaries


class ChangeQuery(PageQuery):
    """Selects changes, and says how long to wait for the first of them."""

    after = FeedCursorField(
        default=None,
        help_text=f"Where to go on: `cursor` of the last page. `{LATEST}` skips all that has happened until now. "
        "Without it, the feed begins with the oldest change that is kept.",
    )
    wait = waits_for("change")


class ChangeOut(EventOut):
    """Something that happened to an order: an event of its history, and the order as it is now, which may be later. The
    order is null if it has been deleted since."""

    order_id = serializers.UUIDField()
    order = OrderSummaryOut(allow_null=True)


class ChangePageOut(Out):
    """Changes in the order in which they are to be processed. Store `cursor` with what you have made of them, and send
    it as `after`, or follow `next`, which does so. If `has_more`, the next page has changes already."""

    results = ChangeOut(many=True)
    cursor = serializers.CharField()
    next = serializers.CharField()
    has_more = serializers.BooleanField()


LIST_CHANGES: dict[str, Any] = {
    "operation_id": "list_changes",
    "summary": "Follow everything that happens to your orders",
    "description": (
        "All changes of all of your orders, each once; those of one order in the order in which they happened. With "
        "`wait`, a page without changes is held until there is one. A page without changes has a new cursor, too: "
        "store that one. Changes are kept for 30 days, or as long as this installation keeps finished orders before "
        "they are archived. An older cursor, or one from before the database was restored, is answered with 410 and "
        "`begin`, where to go on: first get that cursor, then read all of your orders, then follow the changes after "
        "that cursor."
    ),
    "tags": ["changes"],
    "parameters": [ChangeQuery],
    "responses": ChangePageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed", "cursor_expired", "too_many_waiting"]},
}


class Changes(WaitingView):
    """What happened to the client's orders."""

    @extend_schema(**LIST_CHANGES)
    def get(self, request: Request) -> Response:
        query = read_query(ChangeQuery, request)
        customer, mark, now = requests.client_id(request), changes.look(), timezone.now()
        after = _point(query["after"], customer, mark, now)
        page = changes.changes(customer_id=customer, after=after, limit=query["page_size"], mark=mark)
        if query["wait"] and not page.changes:
            reader = FeedReader(customer, *page.until)
            hold(request, reader, version=changes.EMPTY, seconds=query["wait"])
        cursor = str(cursor_at(page.until, mark.epoch, now=now))
        following = {**request.query_params.dict(), "after": cursor}
        body = {
            "results": change_bodies(page.changes, customer),
            "cursor": cursor,
            "next": f"{request.path}?{urlencode(following)}",
            "has_more": page.has_more,
        }
        return Response(body)


def _point(after: FeedCursor | str | None, customer: int, mark: Mark, now: datetime) -> FeedPoint:
    """Where to go on. Raises `ProblemError` for a cursor after which something may be missing."""
    if after is None:
        return changes.oldest_kept(customer)
    if isinstance(after, str):
        return changes.latest(mark)
    if not after.is_of(mark.epoch):
        raise _expired(
            "This is not a cursor of this database as it is now. It may come from before a restore, or from another "
            "server."
        )
    if after.time < now - changes.kept_for():
        raise _expired(
            f"The cursor is of {after.time:%Y-%m-%d %H:%M} UTC, and changes since then are deleted."
        )
    return after.point


def _expired(detail: str) -> ProblemError:
    begin = f"{reverse('api:changes')}?after={LATEST}"
    return ProblemError("cursor_expired", detail, members={"begin": begin})


def change_bodies(page: Sequence[Change], customer_id: int) -> list[dict[str, Any]]:
    """Changes of this customer's orders as JSON, with the orders as they are now."""
    summaries = order_summaries({change.order_id for change in page}, customer_id)
    orders = {order_id: OrderSummaryOut.render(summary) for order_id, summary in summaries.items()}
    return [
        {
            **EventOut.render(change.event),
            "order_id": str(change.order_id),
            "order": orders.get(change.order_id),
        }
        for change in page
    ]
