"""The operators' REST API of the saved views of the list of orders."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api import operator_saved_view_documentation as documentation
from orders.api import operator_saved_view_representations as representations
from orders.api import operator_saved_view_requests as requests
from orders.api.operator_order_lists import OrdersView
from orders.api.operator_problems import refusal
from orders.api.operator_requests import ActIn
from orders.api.operator_views import ActView, actor
from orders.fields.numbers import LARGEST_ID
from orders.selectors.desk.saved_views import view_called, view_of, views_of
from orders.services.act_results import ResultStatus
from orders.services.operators import saved_views


class SavedViews(OrdersView):
    """The saved views of an account, and a new one."""

    @extend_schema(**documentation.LIST)
    def get(self, request: Request) -> Response:
        return Response(representations.SavedViewsOut.render({"results": views_of(request.user)}))

    @extend_schema(**documentation.SAVE)
    def post(self, request: Request) -> Response:
        values = requests.SavedViewIn.read(request.data)
        with self._recorded(request, {}):
            result = saved_views.save(actor=actor(request), **values)
        if result.status is ResultStatus.REFUSED:
            raise refusal(result)
        view = view_called(values["name"], request.user)
        if view is None:  # deleted since
            raise NotFound
        return Response(representations.SavedViewOut.render(view), status=201)


class SavedViewAct(ActView):
    """An act on a saved view, for whoever sees it."""

    def find_target(self, url: dict[str, Any]) -> dict[str, Any]:
        view = view_of(min(url["view_id"], LARGEST_ID), self.request.user)
        if view is None:
            raise NotFound
        return {"view_id": view.id}


@extend_schema_view(post=extend_schema(**documentation.CHANGE))
class SavedViewChange(SavedViewAct):
    """Changes a saved view."""

    body = requests.SavedViewChangeIn
    act = staticmethod(saved_views.change)


@extend_schema_view(post=extend_schema(**documentation.DELETE))
class SavedViewDeletion(SavedViewAct):
    """Deletes a saved view."""

    body = ActIn
    act = staticmethod(saved_views.delete)
