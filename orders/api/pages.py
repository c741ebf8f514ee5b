"""The pages under /api/, which people read: HTML, or text for whoever asks for it."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.template.loader import render_to_string
from rest_framework.permissions import AllowAny
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.views import APIView


class Html(BaseRenderer):
    """A page of the site."""

    media_type = "text/html"
    format = "html"


class PlainText(BaseRenderer):
    """The same as text."""

    media_type = "text/plain"
    format = "txt"


class Page(APIView):
    """A page for everybody. Its errors are problems, as everywhere in the API."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    def respond(self, request: Request, name: str, context: Mapping[str, Any]) -> HttpResponse:
        """The page of this name in the format that the request accepts."""
        renderer = request.accepted_renderer
        body = render_to_string(f"api/{name}.{renderer.format}", dict(context), request=request._request)
        return HttpResponse(
            body, content_type=f"{renderer.media_type}; charset=utf-8", headers={"Vary": "Accept"}
        )
