"""Parses request bodies: strict JSON in UTF-8, no larger than `sasweb.bodies` says."""

import json
from collections.abc import Mapping
from typing import IO, Any, NoReturn

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from orders.api.problems import ProblemError
from sasweb.bodies import largest_body


class StrictJSONParser(BaseParser):
    """Accepts interoperable JSON only (RFC 8259): no duplicate names, NaN, Infinity or lone surrogates in names."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Returns the body's value. Raises `ParseError`, or `ProblemError` if the body is too large or compressed."""
        request = (parser_context or {}).get("request")
        coding = request.headers.get("Content-Encoding", "identity") if request is not None else "identity"
        if coding.lower() != "identity":
            raise ProblemError("unsupported_media_type", "Send the body without a Content-Encoding.")
        return parse_json(self._read(stream, parser_context or {}))

    def _read(self, stream: IO[bytes], context: Mapping[str, Any]) -> bytes:
        request = context.get("request")
        limit = largest_body("" if request is None else request.path_info)
        declared = request.META.get("CONTENT_LENGTH") if request is not None else None
        if declared and int(declared) > limit:
            raise ProblemError("body_too_large")
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise ProblemError("body_too_large")
        return body


def parse_json(body: bytes) -> Any:
    """The value of a body. Raises `ParseError`."""
    try:
        return json.loads(body.decode(), object_pairs_hook=_object, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise ParseError("The body is not UTF-8.") from error
    except RecursionError as error:
        raise ParseError("The body is nested too deeply.") from error
    except json.JSONDecodeError as error:
        raise ParseError(f"The body is not JSON: line {error.lineno}, column {error.colno}.") from error
    except ValueError as error:  # for example, a number with thousands of digits
        raise ParseError(
            "The body contains a value that cannot be read, such as a number with too many digits."
        ) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ParseError("The body contains an object with a duplicate name.")
    for name in members:
        name.encode()  # raises for a lone surrogate, which a response could not even quote
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ParseError(f"The body contains {name}, which is not valid JSON.")
