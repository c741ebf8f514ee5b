"""The API's document in OpenAPI's format."""

from functools import cache
from typing import Any

from django.http import HttpResponse
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

RENDERERS = {"json": OpenApiJsonRenderer, "yaml": OpenApiYamlRenderer}


class JSONProblems(APIView):
    """A view whose problems are JSON, whatever the format of its answers."""

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """The response, with its final renderer."""
        if response.status_code >= 400:
            request.accepted_renderer, request.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
        return super().finalize_response(request, response, *args, **kwargs)


class Documentation(JSONProblems, SpectacularSwaggerSplitView):
    """The page that shows the document."""


class Document(JSONProblems, SpectacularAPIView):
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
