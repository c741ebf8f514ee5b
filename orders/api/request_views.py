"""A client's own requests: the log of its acts, and of whatever was refused."""

from typing import Any
from uuid import UUID

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders.api.documentation import path_parameter
from orders.api.fields import Choice, Flag, NumberCursor, Token
from orders.api.paging import CURSOR_HELP, PageQuery, read_query, render_page
from orders.api.problems import OPERATION_PROBLEMS, PROBLEMS
from orders.api.representations import Out, page_of
from orders.api.requests import client_id
from orders.selectors import logged_requests
from orders.selectors.paging import Page
from sasweb.request_ids import SANE


class RequestQuery(PageQuery):
    """Selects requests. Of several conditions, all must be met."""

    request_id = Token(
        pattern=SANE.pattern,
        message="This must be the ID of a request, as `X-Request-ID` says it.",
        default=None,
        help_text="Only requests with this ID. There are several if you have sent it more than once.",
    )
    order_id = Token(
        pattern="[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
        message="This must be the ID of an order.",
        max_length=36,
        default=None,
        help_text="Only requests about this order.",
    )
    code = Choice(list(PROBLEMS), default=None, help_text="Only requests that were refused with this code.")
    refused = Flag(default=None, help_text="Only requests that were refused, or only others.")
    cursor = NumberCursor(default=None, help_text=CURSOR_HELP)


class RequestLineOut(Out):
    """A request of yours. `at` is when it began, `seconds` how long the answer took, and `token` how the token begins.

    `code` is that of the problem if it was refused, `order_ids` are the orders that it was about, and `path`, which
    has no query, is empty if there is no such url.
    """

    request_id = serializers.CharField()
    at = serializers.DateTimeField()
    method = serializers.CharField()
    path = serializers.CharField(allow_blank=True)
    status = serializers.IntegerField()
    code = serializers.CharField(allow_null=True)
    order_ids = serializers.ListField(child=serializers.UUIDField())
    token = serializers.CharField()
    seconds = serializers.FloatField()


RequestLinePageOut = page_of(RequestLineOut, "A page of your requests, newest first.")

HELP = (
    "Acts, and whatever was refused, of all of your tokens; reads that succeed are not logged. A request is here"
    " within a few seconds, and for seven days unless this installation keeps it longer or shorter. At least the newest"
    " 20,000 are kept. Under overload, some may be missing."
)
LIST_REQUESTS: dict[str, Any] = {
    "operation_id": "list_requests",
    "summary": "List your requests, newest first",
    "description": HELP,
    "tags": ["requests"],
    "parameters": [RequestQuery],
    "responses": RequestLinePageOut,
    "extensions": {OPERATION_PROBLEMS: ["validation_failed"]},
}
GET_REQUEST: dict[str, Any] = {
    "operation_id": "get_request",
    "summary": "Retrieve a request by its ID",
    "description": (
        "If you have sent this `X-Request-ID` more than once, the newest of those requests; `list_requests` has all of "
        f"them by `request_id`. {HELP}"
    ),
    "tags": ["requests"],
    "parameters": [
        path_parameter("request_id", "What `X-Request-ID` of its answer says.", pattern=f"^{SANE.pattern}$")
    ],
    "responses": RequestLineOut,
    "extensions": {OPERATION_PROBLEMS: ["not_found"]},
}


class Requests(APIView):
    """The client's requests."""

    @extend_schema(**LIST_REQUESTS)
    def get(self, request: Request) -> Response:
        query = read_query(RequestQuery, request)
        page = logged_requests.requests_of(
            client_id(request),
            request_id=query["request_id"],
            order_id=UUID(query["order_id"]) if query["order_id"] else None,
            code=query["code"],
            is_refused=query["refused"],
            before=query["cursor"],
            limit=query["page_size"],
        )
        items = [_shown(row) for row in page.items]
        last = page.items[-1].pk if page.items else 0
        shown: Page[dict[str, Any]] = Page(items=items, has_more=page.has_more)
        return render_page(RequestLinePageOut, request, shown, key=lambda _: last)


class RequestDetail(APIView):
    """One request."""

    @extend_schema(**GET_REQUEST)
    def get(self, request: Request, request_id: str) -> Response:
        row = logged_requests.find_request(request_id[:200], customer_id=client_id(request))
        if row is None:
            raise NotFound
        return Response(RequestLineOut.render(_shown(row)))


def _shown(row: Any) -> dict[str, Any]:
    return {**vars(row), "code": row.code or None, "seconds": row.milliseconds / 1_000}


urlpatterns = [
    path("requests", Requests.as_view(), name="requests"),
    path("requests/<str:request_id>", RequestDetail.as_view(), name="request"),
]
