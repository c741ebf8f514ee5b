"""What the command sends is in the OpenAPI document: an operation that gets another name or path fails here."""

import json
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from orders.api import document
from orders.vocabulary import ProcessState, WaitingFor
from sasweb.terminal.arguments import STATES, WAITS
from sasweb.terminal.operations import OPERATIONS, Operation
from tests.architecture.source import imports, is_ours, is_within, within


@pytest.fixture(scope="module")
def api() -> Mapping[str, Any]:
    rendered: Mapping[str, Any] = json.loads(document.render("json"))
    return rendered


def members_of(schema: Mapping[str, Any], api: Mapping[str, Any]) -> set[str]:
    """The members of a body with this schema."""
    if "$ref" in schema:
        return members_of(api["components"]["schemas"][schema["$ref"].rpartition("/")[2]], api)
    parts = [part for word in ("allOf", "anyOf", "oneOf") for part in schema.get(word, [])]
    return set(schema.get("properties", {})).union(*(members_of(part, api) for part in parts))


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_operation_is_in_the_document_with_all_that_is_sent(
    operation: Operation, api: Mapping[str, Any]
) -> None:
    described = api["paths"][operation.path][operation.method.lower()]
    assert described["operationId"] == operation.name
    places = {"query": set(operation.query), "header": set(operation.headers)}
    for place, names in places.items():
        own = {each["name"] for each in described.get("parameters", []) if each.get("in") == place}
        assert names <= own, place
    success = next(answer for status, answer in described["responses"].items() if status.startswith("2"))
    assert operation.accepts in success["content"]
    assert ("requestBody" in described) == bool(operation.is_whole or operation.members)
    if "requestBody" in described:
        schema = described["requestBody"]["content"]["application/json"]["schema"]
        assert {*operation.members, *(["lines"] if operation.is_whole else [])} <= members_of(schema, api)


def test_what_an_order_can_be_followed_until_are_the_words_of_the_api() -> None:
    assert set(STATES) == {state.value for state in ProcessState}
    assert set(WAITS) == {word.value for word in WaitingFor}


def test_the_command_needs_nothing_but_the_standard_library() -> None:
    """It runs where the product is not installed, against any server."""
    modules = within("sasweb.terminal", "sasweb.webhook_signatures")
    assert len(modules) > 5
    others = [
        str(imported)
        for module in modules
        for imported in imports(module)
        if not is_within(imported.target, "sasweb.terminal", "sasweb.webhook_signatures")
    ]
    ours = [line for line in others if is_ours(line.split()[2])]
    assert ours == []
    assert [line for line in others if line.split()[2].partition(".")[0] not in sys.stdlib_module_names] == []
