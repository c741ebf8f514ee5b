"""The API's document in OpenAPI's format."""

from functools import cache

from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class Document(SpectacularAPIView):
    """The document, as YAML or JSON. Query parameters change nothing."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *_args: object, **_kwargs: object) -> HttpResponse:
        """Returns the document."""
        renderer = request.accepted_renderer
        return HttpResponse(
            render(type(renderer)),
            content_type=f"{renderer.media_type}; charset=utf-8" if renderer.charset else renderer.media_type,
            headers={"Content-Disposition": f'inline; filename="sasweb orders.{renderer.format}"'},
        )


@cache
def render(renderer: type[BaseRenderer]) -> bytes:
    """The document in one format. A process renders it once, since that takes long and anybody may ask for it."""
    document: bytes = renderer().render(SchemaGenerator().get_schema(public=True), renderer_context={})
    return document
