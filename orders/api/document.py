"""The API's document in OpenAPI's format."""

from functools import cache
from typing import Any

from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request

RENDERERS = {"json": OpenApiJsonRenderer, "yaml": OpenApiYamlRenderer}


class Document(SpectacularAPIView):
    """The document, as YAML or JSON. Query parameters change nothing."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *_args: object, **_kwargs: object) -> HttpResponse:
        """Returns the document."""
        renderer = request.accepted_renderer
        return HttpResponse(
            render(renderer.format),
            content_type=f"{renderer.media_type}; charset=utf-8" if renderer.charset else renderer.media_type,
            headers={"Content-Disposition": f'inline; filename="sasweb orders.{renderer.format}"'},
        )


@cache
def render(form: str) -> str | bytes:
    """The document as `yaml` or `json`. A process renders it once, since that takes long and anybody may ask for it."""
    generator: Any = SchemaGenerator()  # type: ignore[no-untyped-call]
    return RENDERERS[form]().render(generator.get_schema(public=True), renderer_context={})
