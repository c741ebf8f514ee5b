"""What breaks for clients between two documents is found wherever it is, and nothing that is added counts as such."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orders.api.breaking_changes import breaking_changes
from orders.api.released_document import NAMES, read_released

Schema = dict[str, Any]
Change = Callable[[Schema], bool]

LEAVES = (
    {"type": "string", "minLength": 2, "maxLength": 9, "pattern": "^[a-z]+$"},
    {"type": "integer", "minimum": 1, "maximum": 9},
    {"type": "string", "enum": ["a", "b"]},
    {"type": "string", "format": "uuid"},
    {"type": "boolean", "default": True},
    {"$ref": "#/components/schemas/Whole"},
)


def objects(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.builds(
        lambda a, b: {
            "type": "object",
            "properties": {"a": a, "description": b},
            "required": ["a"],
            "additionalProperties": False,
        },
        inner,
        inner,
    )


def nullable(schema: Schema) -> Schema:
    """The schema or null, unless it is so already."""
    if {"anyOf", "allOf"} & schema.keys():
        return schema
    return {"anyOf": [{**schema, "x-nullable": True}, {"type": "null"}]}


SCHEMAS = st.recursive(
    st.sampled_from(LEAVES).map(deepcopy),
    lambda inner: st.one_of(
        objects(inner),
        inner.map(lambda schema: {"type": "array", "items": schema, "maxItems": 5}),
        inner.map(nullable),
        inner.map(lambda schema: schema if "anyOf" in schema else {"allOf": [schema]}),
    ),
    max_leaves=6,
)


def nodes(schema: Schema) -> Iterator[Schema]:
    """Every schema within a schema."""
    yield schema
    for inner in (*schema.get("properties", {}).values(), *schema.get("anyOf", ()), *schema.get("allOf", ())):
        yield from nodes(inner)
    if "items" in schema:
        yield from nodes(schema["items"])


def setting(name: str, value: Any, *, where: str) -> Change:
    """Sets a key of the schemas that have another."""

    def change(schema: Schema) -> bool:
        if where not in schema:
            return False
        schema[name] = value
        return True

    return change


def removing(name: str, value: Any) -> Change:
    """Removes a value of a list, or a member of an object, at a key."""

    def change(schema: Schema) -> bool:
        if value not in schema.get(name, ()):
            return False
        if isinstance(schema[name], list):
            schema[name] = [other for other in schema[name] if other != value]
        else:
            del schema[name][value]
        return True

    return change


def becoming_null(schema: Schema) -> bool:
    if "anyOf" in schema or "x-nullable" in schema or schema.get("type") == "null":
        return False
    schema["anyOf"] = [dict(schema), {"type": "null"}]
    for name in schema.keys() - {"anyOf"}:
        del schema[name]
    return True


def of_another_type(schema: Schema) -> bool:
    if schema.get("type") in (None, "null"):
        return False
    schema["type"] = "number" if schema["type"] == "string" else "string"
    return True


def with_another_member(schema: Schema) -> bool:
    if "properties" not in schema:
        return False
    schema["properties"]["c"] = {"type": "string"}
    return True


def with_another_value(schema: Schema) -> bool:
    if "enum" not in schema:
        return False
    schema["enum"] = [*schema["enum"], "c"]
    return True


def without_a_pattern(schema: Schema) -> bool:
    return schema.pop("pattern", None) is not None


EVERY_WAY: dict[str, Change] = {
    "another type": of_another_type,
    "a member that is gone": removing("properties", "a"),
    "another member that is gone": removing("properties", "description"),
    "another format": setting("format", "date", where="format"),
}
SENT: dict[str, Change] = {
    **EVERY_WAY,
    "a member that is now required": setting("required", ["a", "description"], where="required"),
    "a value that is gone": removing("enum", "a"),
    "values where any was taken": setting("enum", ["aa"], where="pattern"),
    "another pattern": setting("pattern", "^a$", where="pattern"),
    "a higher minimum": setting("minimum", 2, where="minimum"),
    "a lower maximum": setting("maximum", 8, where="maximum"),
    "longer texts only": setting("minLength", 3, where="minLength"),
    "shorter texts only": setting("maxLength", 8, where="maxLength"),
    "fewer items": setting("maxItems", 4, where="maxItems"),
    "some items at least": setting("minItems", 1, where="items"),
    "another default": setting("default", False, where="default"),
    "no null": removing("anyOf", {"type": "null"}),
}
RECEIVED: dict[str, Change] = {
    **EVERY_WAY,
    "a member that may be missing": setting("required", [], where="required"),
    "null": becoming_null,
}
ADDED: dict[str, Change] = {
    "another member": with_another_member,
    "another value": with_another_value,
    "a description": setting("description", "New words.", where="type"),
}
ADDED_TO_SENT: dict[str, Change] = {
    **ADDED,
    "less that is required": setting("required", [], where="required"),
    "null": becoming_null,
    "a lower minimum": setting("minimum", 0, where="minimum"),
    "longer texts": setting("maxLength", 10, where="maxLength"),
    "any pattern": without_a_pattern,
    "other members": setting("additionalProperties", True, where="additionalProperties"),
}
ADDED_TO_RECEIVED: dict[str, Change] = {
    **ADDED,
    "more that is sure": setting("required", ["a", "description"], where="required"),
    "never null": removing("anyOf", {"type": "null"}),
    "fewer values": removing("enum", "a"),
    "shorter texts": setting("maxLength", 8, where="maxLength"),
}


def document(*, sent: Schema | None = None, received: Schema | None = None) -> dict[str, Any]:
    """A document of one operation and one webhook."""
    plain = {"type": "object", "properties": {}}
    content = {
        name: {"content": {"application/json": {"schema": deepcopy(schema or plain)}}}
        for name, schema in (("sent", sent), ("received", received))
    }
    operation = {
        "x-scope": "orders",
        "parameters": [
            {"in": "query", "name": "page", "schema": {"type": "integer", "maximum": 100}},
            {"in": "path", "name": "id", "required": True, "schema": {"type": "string"}},
        ],
        "requestBody": {**content["sent"]},
        "responses": {
            "200": {**content["received"], "headers": {"ETag": {"required": True, "schema": {}}}},
            "404": {**content["received"]},
        },
    }
    return {
        "paths": {"/orders/{id}": {"post": operation}},
        "webhooks": {"order": {"post": {"requestBody": content["received"], "responses": {"204": {}}}}},
        "components": {"schemas": {"Whole": {"type": "integer", "minimum": 1}}},
    }


def changed(data: st.DataObject, schema: Schema, changes: dict[str, Change]) -> Schema | None:
    """The schema with one of these changes somewhere; None if this one has no place for it."""
    copy = deepcopy(schema)
    change = changes[data.draw(st.sampled_from(sorted(changes)))]
    places = list(nodes(copy))
    return copy if change(places[data.draw(st.integers(0, len(places) - 1))]) else None


@given(schema=SCHEMAS, data=st.data())
def test_each_change_that_breaks_is_found_wherever_it_is(schema: Schema, data: st.DataObject) -> None:
    assert breaking_changes(document(sent=schema), document(sent=schema)) == []
    if sent := changed(data, schema, SENT):
        assert breaking_changes(document(sent=schema), document(sent=sent)) != []
    if received := changed(data, schema, RECEIVED):
        assert breaking_changes(document(received=schema), document(received=received)) != []


@given(schema=SCHEMAS, data=st.data())
def test_each_addition_passes_wherever_it_is(schema: Schema, data: st.DataObject) -> None:
    if sent := changed(data, schema, ADDED_TO_SENT):
        assert breaking_changes(document(sent=schema), document(sent=sent)) == []
    if received := changed(data, schema, ADDED_TO_RECEIVED):
        assert breaking_changes(document(received=schema), document(received=received)) == []


def test_what_breaks_is_named_with_its_place() -> None:
    old = {"type": "object", "properties": {"lines": {"type": "array", "items": LEAVES[1]}}}
    new = deepcopy(old)
    new["properties"]["lines"]["items"]["maximum"] = 5
    assert breaking_changes(document(sent=old), document(sent=new)) == [
        "POST /orders/{id}: body.lines[] has a narrower maximum"
    ]


def operation(document: dict[str, Any]) -> dict[str, Any]:
    found_operation: dict[str, Any] = document["paths"]["/orders/{id}"]["post"]
    return found_operation


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda new: new["paths"].clear(), "is gone"),
        (lambda new: new["webhooks"].clear(), "is gone"),
        (lambda new: operation(new).update({"x-scope": "operate"}), "needs another scope"),
        (lambda new: operation(new)["parameters"].pop(0), "parameter page is gone"),
        (lambda new: operation(new)["parameters"][0].update(required=True), "parameter page is now required"),
        (lambda new: operation(new)["parameters"][0]["schema"].update(maximum=9), "has a narrower maximum"),
        (lambda new: operation(new).pop("requestBody"), "body is gone"),
        (lambda new: operation(new)["requestBody"].update(required=True), "body is now required"),
        (lambda new: operation(new)["requestBody"]["content"].clear(), "application/json is gone"),
        (lambda new: operation(new)["responses"].pop("200"), "answer 200 is gone"),
        (lambda new: operation(new)["responses"]["200"]["headers"].clear(), "header ETag is no longer sure"),
        (lambda new: new["components"]["schemas"]["Whole"].update(minimum=2), "has a narrower minimum"),
    ],
)
def test_what_breaks_of_an_operation_is_found(change: Callable[[Any], Any], words: str) -> None:
    old = document(sent={"$ref": "#/components/schemas/Whole"})
    new = deepcopy(old)
    change(new)
    (line,) = breaking_changes(old, new)
    assert line.endswith(words)
    assert line.startswith(("POST /orders/{id}:", "POST order:"))


def test_what_is_added_to_operations_passes() -> None:
    old, new = document(), document()
    new["paths"]["/others"] = {"get": {"responses": {}}}
    operation(new)["parameters"].append({"in": "query", "name": "new", "schema": {"type": "string"}})
    operation(new)["responses"] |= {"409": {}, "404": {"description": "Another problem."}}
    operation(new)["responses"].pop("404")
    assert breaking_changes(old, new) == []
    assert breaking_changes(new, old) != []


def test_a_schema_that_refers_to_itself_is_compared_to_its_end() -> None:
    tree = {
        "type": "object",
        "properties": {"parts": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}},
    }
    old = document(sent={"$ref": "#/components/schemas/Tree"})
    old["components"]["schemas"]["Tree"] = tree
    new = deepcopy(old)
    assert breaking_changes(old, new) == []
    new["components"]["schemas"]["Tree"]["required"] = ["parts"]
    assert breaking_changes(old, new)[0].endswith("body.parts is now required")


def test_the_released_document_has_what_it_promises_and_no_more() -> None:
    released = read_released()
    assert released is not None
    assert released.keys() == {"paths", "webhooks", "components"}
    assert "description" not in released["components"]["schemas"]["Order"]
    assert "title" in released["components"]["schemas"]["Order"]["properties"]
    assert {"properties", "paths"} <= NAMES
