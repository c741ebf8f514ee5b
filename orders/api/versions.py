"""Which version of the API answers a request: the one that it names, or else the one that its token is pinned to."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from orders.access import api_versions
from orders.access.api_versions import HEADER, Version
from orders.api.repeated_headers import is_repeated

VERSIONED = "/api/v1/"
"""What has versions. The documentation has none, nor has what remote services call."""
UNSUPPORTED = "unsupported_version"

Handler = Callable[[HttpRequest], HttpResponseBase]


class UnsupportedVersionError(APIException):
    """Raised when a request is for a version that there is not, or not any more. The detail lists those that are."""


def choose_version(request: Request, token: Any, *, now: datetime) -> None:
    """Sets the version that answers a request, whose `token` may be None. Raises `UnsupportedVersionError`."""
    if not request.path_info.startswith(VERSIONED):
        return
    named = request.headers.get(HEADER)
    if is_repeated(request, HEADER):
        raise UnsupportedVersionError(f"There is more than one {HEADER} header. Name one version.")
    name = named if named is not None else token.version if token else api_versions.newest().name
    version = api_versions.find_version(name)
    if version is None or version.has_ended(now):
        fault = "has ended" if version else "does not exist"
        names = ", ".join(other.name for other in api_versions.supported(now))
        source = "that the request names" if named is not None else "that the token is pinned to"
        raise UnsupportedVersionError(
            f"The version {source} {fault}. Send {HEADER} with one of these: {names}."
        )
    request._request.api_version = version  # type: ignore[attr-defined]


def say_version(get_response: Handler) -> Handler:
    """Middleware that has each answer say which version answered, and whether that one goes."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if request.path_info.startswith(VERSIONED):
            version: Version = getattr(request, "api_version", api_versions.newest())
            for name, value in version.headers().items():
                response.headers.setdefault(name, value)
        return response

    return middleware


def describe_versions(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Adds the header, in requests and answers, to the operations of the OpenAPI document that have versions."""
    components = result["components"]
    components["schemas"]["APIVersion"] = {
        "type": "string",
        "enum": [version.name for version in api_versions.VERSIONS],
        "description": "A version of the API.",
    }
    schema = {"$ref": "#/components/schemas/APIVersion"}
    components.setdefault("parameters", {})["APIVersion"] = {
        "name": HEADER,
        "in": "header",
        "description": "The version that is to answer, if it is not the one that the token is pinned to.",
        "schema": schema,
    }
    components["headers"]["APIVersion"] = {
        "description": "The version that answered. `Deprecation` and `Sunset` come with it if that one goes.",
        "schema": schema,
    }
    for path, operations in result["paths"].items():
        if path.startswith(VERSIONED):
            for operation in operations.values():
                operation.setdefault("parameters", []).append({"$ref": "#/components/parameters/APIVersion"})
                for response in operation["responses"].values():
                    response["headers"][HEADER] = {"$ref": "#/components/headers/APIVersion"}
    return result
