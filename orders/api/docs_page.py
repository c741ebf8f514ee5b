"""The page that shows the OpenAPI document, with Swagger UI."""

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from orders.api.pages import Html, Page


class Docs(Page):
    """The page. It reads the document itself (`static/js/api-docs.js`)."""

    renderer_classes = (Html,)

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        """Returns the page."""
        return self.respond(request, "docs", {})
