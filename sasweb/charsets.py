"""The charset that a client names for a body. Everything is read as UTF-8, the only one that the standards have for
JSON and for forms. Django would decode the body, and even the url, with whatever is named, also with codecs that decode
no text."""

from collections.abc import Iterable

from django.utils.http import parse_header_parameters

Headers = Iterable[tuple[bytes, bytes]]

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
UTF8 = ("utf-8", "utf8", "us-ascii", "ascii")


def is_foreign_form(headers: Headers) -> bool:
    """Whether a request has a form in another charset than UTF-8."""
    media_type, parameters = parse_header_parameters(_content_type(headers))
    return media_type in FORMS and parameters.get("charset", UTF8[0]).lower() not in UTF8


def without_charset(headers: Headers) -> list[tuple[bytes, bytes]]:
    """The headers of a request without the charset of its content type."""
    media_type, parameters = parse_header_parameters(_content_type(headers))
    if "charset" not in parameters:
        return list(headers)
    boundary = f'; boundary="{parameters["boundary"]}"' if "boundary" in parameters else ""
    others = [(name, value) for name, value in headers if name != b"content-type"]
    return [*others, (b"content-type", f"{media_type}{boundary}".encode("latin-1", "replace"))]


def _content_type(headers: Headers) -> str:
    return next((value.decode("latin-1") for name, value in headers if name == b"content-type"), "")
