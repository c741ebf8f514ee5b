"""Which formats a request may have and accept, and what OPTIONS answers."""

from collections.abc import Iterable
from typing import Any

from rest_framework.exceptions import NotAcceptable
from rest_framework.metadata import BaseMetadata
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request

from sasweb.problems import MEDIA_TYPE


class Negotiation(DefaultContentNegotiation):
    """Django REST framework's, for clients that name problems, and for ranges of media types, which no body has."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        """The parser of a body; None if its media type is not supported."""
        parser: BaseParser | None = super().select_parser(request, parsers)
        return None if "*" in request.content_type else parser

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """The renderer of a success, and its media type. Raises `NotAcceptable`.

        Whoever accepts nothing but problems accepts whatever success there is: clients that are generated from the
        document name nothing else where a success has no content.
        """
        try:
            renderer: tuple[BaseRenderer, str] = super().select_renderer(request, renderers, format_suffix)
        except NotAcceptable:
            accepted = (media_type.partition(";")[0].strip() for media_type in self.get_accept_list(request))
            if MEDIA_TYPE not in accepted:
                raise
            first = next(iter(renderers))
            return first, first.media_type
        return renderer


class NoMetadata(BaseMetadata):
    """Answers OPTIONS with no content. Its header `Allow` says it all."""

    def determine_metadata(self, request: Request, view: Any) -> None:
        """Returns nothing, in the one format that has nothing for it."""
        request.accepted_renderer, request.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
