"""Has the OpenAPI document say of each field what it takes, and of each operation its scope and its problems."""

import re
from typing import Any

from drf_spectacular.openapi import AutoSchema
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import AllowAny
from rest_framework.serializers import ListSerializer

from orders.api.fields import Strict
from orders.api.own_words import METADATA_SCHEMA
from orders.api.problems import OPERATION_PROBLEMS, PROBLEMS
from orders.api.scopes import scope_of
from orders.api.versions import UNSUPPORTED, VERSIONED
from orders.fields.numbers import LARGEST_ID
from orders.vocabulary import ApprovalAct, TokenScope
from sasweb.problems import MEDIA_TYPE, type_url

EVERYWHERE = (
    *("malformed_request", "url_too_long", "headers_too_large"),
    *("not_acceptable", "rate_limited", "internal_error", "unavailable"),
)
IF_SENT = ("invalid_token", "token_expired")
"""Of a token, also where none is needed."""
WITH_TOKEN = ("not_authenticated", "scope_missing")
WITH_BODY = (
    *("validation_failed", "request_timeout", "body_too_large", "unsupported_media_type"),
    "transfer_coding_unknown",
)

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
        "needed_scope": {
            "type": "string",
            "enum": list(TokenScope),
            "description": "The scope that the token lacks.",
        },
        "begin": {
            "type": "string",
            "format": "uri-reference",
            "description": "Where to get a cursor when the old one has expired.",
        },
        "ask": {
            "type": "string",
            "enum": list(ApprovalAct),
            "description": "The `act` to ask for with `POST /api/v1/approvals`.",
        },
        "bulk_actions": {
            "type": "array",
            "items": {"type": "integer", "format": "int64"},
            "description": "The bulk actions that have some of the orders.",
        },
        "busy_orders": {"type": "integer", "description": "How many of the orders they have."},
        "total": {
            "type": "object",
            "description": "What the order would cost, an amount in minor units.",
            "properties": {"amount": {"type": "integer"}, "currency": {"type": "string"}},
            "required": ["amount", "currency"],
        },
        "order": {
            "type": "object",
            "description": "The order that has the reference.",
            "properties": {
                "id": {"type": "string", "format": "uuid"},
                "url": {"type": "string", "format": "uri-reference"},
            },
            "required": ["id", "url"],
        },
    },
    "required": ["type", "title", "status", "detail", "code", "request_id", "retryable"],
}


REQUEST_ID = {
    "description": "The ID of the request, which our log has too. If you send one of this form, it is yours.",
    "required": True,
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]{8,64}$"},
}

NUMBER = {"type": "integer", "format": "int64", "minimum": 0, "maximum": LARGEST_ID}
"""The schema of the ID of a row."""

NULL, NULL_ENUMERATION = {"type": "null"}, {"$ref": "#/components/schemas/NullEnum"}
"""What can only be null, and how drf-spectacular says so beside an enumeration."""

WORKFLOW = "x-workflow"
"""The key of the one workflow that a field stands for in a body's documentation."""


class ExactSchema(AutoSchema):
    """Says which scope an operation needs, in its description and as `x-scope`, and what each of our fields takes."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """The operation, with its scope. None for one that is not documented."""
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        scope = None if AllowAny in self.view.permission_classes else scope_of(self.view, self.method)
        if operation and scope:
            operation["x-scope"] = scope.value
            need = f"Needs a token with the scope `{scope}`."
            operation["description"] = f"{operation.get('description', '')}\n\n{need}".strip()
        return operation

    def get_serializer_name(self, serializer: Any, direction: str) -> str:
        """The name of a component: that of its class, without `In` and `Out`, which mean nothing to clients."""
        return re.sub("(In|Out)$", "", type(serializer).__name__)

    def _resolve_path_parameters(self, variables: Any) -> list[dict[str, Any]]:
        """The parameters in a path. Each number is the ID of a row."""
        parameters: list[dict[str, Any]] = super()._resolve_path_parameters(variables)  # type: ignore[no-untyped-call]
        for parameter in parameters:
            if parameter["schema"].get("type") == "integer":
                parameter["schema"] = NUMBER
        return parameters

    def _get_request_for_media_type(self, serializer: Any, direction: str = "request") -> tuple[Any, bool]:
        """The schema of a body, and whether there must be one: also where each member of it may be left out."""
        schema, has_required = super()._get_request_for_media_type(serializer, direction)  # type: ignore[no-untyped-call]
        may_be_left_out = not has_required and getattr(serializer, "may_be_left_out", False)
        return schema, schema is not None and not may_be_left_out

    def _map_basic_serializer(self, serializer: Any, direction: str) -> dict[str, Any]:
        """The schema of an object, which has no other members if it is one that refuses them."""
        schema: dict[str, Any] = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        if isinstance(serializer, Strict):
            schema["additionalProperties"] = serializer.takes_others
            if serializer.least_members:
                schema["minProperties"] = serializer.least_members
        return schema

    def _insert_field_validators(self, field: Any, schema: dict[str, Any]) -> None:
        """Adds what a field takes to its schema, as the field itself says it. The empty text that our own code sees in
        place of a member that was left out is no default of one that refuses it."""
        super()._insert_field_validators(field, schema)  # type: ignore[no-untyped-call]
        schema.update(getattr(field, "schema", {}))
        if isinstance(field, ListSerializer):
            limits = {"minItems": getattr(field, "min_length"), "maxItems": getattr(field, "max_length")}  # noqa: B009
            schema.update({name: limit for name, limit in limits.items() if limit is not None})
        if schema.get("default") == "" and not _takes_nothing(field):
            del schema["default"]


def _takes_nothing(field: Any) -> bool:
    try:
        field.run_validation("")
    except ValidationError:
        return False
    return True


def add_problems(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Adds problem responses to each operation, with an example of each code."""
    components = result.setdefault("components", {})
    components.setdefault("schemas", {}).update(Problem=PROBLEM_SCHEMA, Metadata=METADATA_SCHEMA)
    components.setdefault("headers", {})["RequestID"] = REQUEST_ID
    for path, operations in result["paths"].items():
        in_version = (UNSUPPORTED,) if path.startswith(VERSIONED) else ()
        for operation in operations.values():
            own_codes = operation.pop(OPERATION_PROBLEMS, ())
            codes = dict.fromkeys((*own_codes, *_common_codes(operation), *in_version))
            for status in sorted({PROBLEMS[code].status for code in codes}):
                here = [code for code in codes if PROBLEMS[code].status == status]
                operation["responses"][str(status)] = _response(here)
            for response in operation["responses"].values():
                response.setdefault("headers", {})["X-Request-ID"] = {
                    "$ref": "#/components/headers/RequestID"
                }
    return result


def say_null_plainly(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Says with `anyOf` and the type `null` that something may be null. `oneOf`, and an enumeration that has only null,
    mean the same, but generators of clients warn of the one and make a class of the other."""
    result["components"]["schemas"].pop(NULL_ENUMERATION["$ref"].rpartition("/")[2], None)
    plain: dict[str, Any] = _with_plain_null(result)
    return plain


def _with_plain_null(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_plain_null(item) for item in value]
    if not isinstance(value, dict):
        return value
    value = {name: _with_plain_null(member) for name, member in value.items()}
    choices = [NULL if choice == NULL_ENUMERATION else choice for choice in value.get("oneOf", ())]
    if NULL in choices:
        del value["oneOf"]
        value["anyOf"] = choices
    return value


def name_workflows(result: dict[str, Any], **_: object) -> dict[str, Any]:
    """Gives each body of a new order the name of its workflow, as an enumeration of one.

    Not earlier, since `postprocess_schema_enums` would move those of several bodies into one component.
    """
    for schema in result.get("components", {}).get("schemas", {}).values():
        workflow = schema.get("properties", {}).get("workflow", {})
        if WORKFLOW in workflow:
            workflow["enum"] = [workflow.pop(WORKFLOW)]
    return result


def _common_codes(operation: dict[str, Any]) -> tuple[str, ...]:
    """The problems of every operation that takes a token, or a body, as this one does."""
    tokens = operation.get("security", [])
    return (
        *(WITH_TOKEN if tokens and {} not in tokens else ()),
        *(IF_SENT if any(tokens) else ()),
        *(WITH_BODY if "requestBody" in operation else ()),
        *EVERYWHERE,
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
    if code == "reference_taken":
        order_id = "01936b1e-6f0c-7c2e-9f3a-3d8f0f6f2b11"
        example["order"] = {"id": order_id, "url": f"/api/v1/orders/{order_id}"}
    if code == "total_not_agreed":
        example["total"] = {"amount": 8_490, "currency": "EUR"}
    return example
