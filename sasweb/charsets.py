"""The charset that a client names for a body. Everything is read as UTF-8, the only one that the standards have for
JSON and for forms. Django would decode the body, and even the url, with whatever is named, also with codecs that decode
no text."""

from collections.abc import Iterable

from django.utils.http import parse_header_parameters

Headers = Iterable[tuple[bytes, bytes]]

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
UTF8 = ("utf-8", "utf8", "us-ascii", "ascii")


def without_charset(headers: Headers) -> tuple[Headers, bool]:
    """The headers of a request without the charset of its content type, and whether this is a form in another charset
    than UTF-8."""
    content_type = next((value.decode("latin-1") for name, value in headers if name == b"content-type"), "")
    media_type, parameters = parse_header_parameters(content_type)
    if "charset" not in parameters:
        return headers, False
    boundary = f'; boundary="{parameters["boundary"]}"' if "boundary" in parameters else ""
    others = [(name, value) for name, value in headers if name != b"content-type"]
    new = (b"content-type", f"{media_type}{boundary}".encode("latin-1", "replace"))
    return [*others, new], media_type in FORMS and parameters["charset"].lower() not in UTF8
