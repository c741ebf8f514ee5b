"""Adds the scope and the problems of each operation to the OpenAPI document, and the names of the workflows."""

from typing import Any

from drf_spectacular.openapi import AutoSchema
from rest_framework.permissions import AllowAny

from orders.api.problems import OPERATION_PROBLEMS, PROBLEMS
from orders.api.scopes import scope_of
from sasweb.problems import MEDIA_TYPE, type_url

EVERYWHERE = ("not_acceptable", "rate_limited", "internal_error", "unavailable")
WITH_TOKEN = ("not_authenticated", "scope_missing")

MISTAKE = {
    "type": "object",
    "description": "A mistake, and its place: one of `pointer`, `parameter` and `header`.",
    "properties": {
        "pointer": {"type": "string", "description": "A JSON pointer (RFC 6901) into the body."},
        "parameter": {"type": "string", "description": "The name of a query parameter."},
        "header": {"type": "string", "description": "The name of a request header."},
        "detail": {"type": "string"},
    },
    "required": ["detail"],
}
PROBLEM_SCHEMA = {
    "type": "object",
    "description": "A problem (RFC 9457).",
    "properties": {
        "type": {
            "type": "string",
            "format": "uri",
            "description": "The address of the page that explains the code.",
        },
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string", "enum": list(PROBLEMS)},
        "request_id": {"type": "string"},
        "retryable": {"type": "boolean", "description": "Whether the same request may succeed later."},
        "errors": {"type": "array", "items": MISTAKE},
        "needed_scope": {"type": "string", "description": "The scope that the token lacks."},
    },
    "required": ["type", "title", "status", "detail", "code", "request_id", "retryable"],
}


WORKFLOW = "x-workflow"
"""The key of the one workflow that a field stands for in a body's documentation."""


class ScopedSchema(AutoSchema):
    """Says which scope an operation needs, in its description and as `x-scope`."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """The operation, with its scope. None for one that is not documented."""
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        scope = None if AllowAny in self.view.permission_classes else scope_of(self.view, self.method)
        if operation and scope:
            operation["x-scope"] = scope.value
            need = f"Needs a token with the scope `{scope}`."
            operation["description"] = f"{operation.get('description', '')}\n\n{need}".strip()
        return operation


def add_problems(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Adds problem responses to each operation, with an example of each code."""
    result.setdefault("components", {}).setdefault("schemas", {})["Problem"] = PROBLEM_SCHEMA
    for operations in result["paths"].values():
        for operation in operations.values():
            codes = (*operation.pop(OPERATION_PROBLEMS, ()), *EVERYWHERE, *_token_codes(operation))
            for status in sorted({PROBLEMS[code].status for code in codes}):
                here = [code for code in codes if PROBLEMS[code].status == status]
                operation["responses"][str(status)] = _response(here)
    return result


def name_workflows(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Gives each body of a new order the name of its workflow, as an enumeration of one.

    Not earlier, since `postprocess_schema_enums` would move those of several bodies into one component.
    """
    for schema in result.get("components", {}).get("schemas", {}).values():
        workflow = schema.get("properties", {}).get("workflow", {})
        if WORKFLOW in workflow:
            workflow["enum"] = [workflow.pop(WORKFLOW)]
    return result


def _token_codes(operation: dict[str, Any]) -> tuple[str, ...]:
    needs_token = {} not in operation.get("security", [{}])
    has_body = "requestBody" in operation
    return (
        *(WITH_TOKEN if needs_token else ()),
        "invalid_token",
        "token_expired",
        *(("malformed_request",) if has_body else ()),
    )


def _response(codes: list[str]) -> dict[str, Any]:
    examples = {code: {"value": _example(code)} for code in codes}
    return {
        "description": " or ".join(PROBLEMS[code].title for code in codes),
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": examples}},
    }


def _example(code: str) -> dict[str, Any]:
    problem = PROBLEMS[code]
    example: dict[str, Any] = {
        "type": type_url(code),
        "title": problem.title,
        "status": problem.status,
        "detail": problem.meaning,
        "code": code,
        "request_id": "4f1c0a52f7a94c0c8a7f1f3f7f6c2b11",
        "retryable": problem.retryable,
    }
    if code == "validation_failed":
        mistake = {
            "pointer": "/lines/0/quantity",
            "detail": "Ensure this value is less than or equal to 999.",
        }
        example["errors"] = [mistake]
    return example
