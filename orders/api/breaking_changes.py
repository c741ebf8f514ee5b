"""Finds what a client of the released OpenAPI document could not do, or rely on, under a newer one.

What is added passes: operations, members, parameters that may be left out, and values of enumerations in answers. A
description or an example promises nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

Json = Mapping[str, Any]

LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
SAME = ("pattern", "format", "multipleOf", "uniqueItems", "const")
ANYTHING = frozenset({"string", "number", "boolean", "object", "array", "null"})


def breaking_changes(released: Json, document: Json) -> list[str]:
    """What breaks for clients, each with its place; empty if nothing does."""
    return sorted(set(_operations(_Pair(released, document, "", (released, document)))))


@dataclass(frozen=True)
class _Pair:
    """What is compared, in two documents, and its place. `is_sent` is for what clients send."""

    old: Any
    new: Any
    place: str
    roots: tuple[Json, Json]
    is_sent: bool = True
    references: frozenset[tuple[int, int]] = frozenset()

    def at(self, old: Any, new: Any, place: str = "") -> "_Pair":
        """A part of it, without its references."""
        old, new = _follow(old, self.roots[0]), _follow(new, self.roots[1])
        return replace(self, old=old, new=new, place=f"{self.place} {place}".strip())


def _follow(value: Any, root: Json) -> Any:
    while isinstance(value, dict) and "$ref" in value:
        place: Any = root
        for name in value["$ref"].removeprefix("#/").split("/"):
            place = place[name]
        value = place
    return value


def _operations(documents: _Pair) -> Iterator[str]:
    for kind in ("paths", "webhooks"):
        for path, methods in documents.old.get(kind, {}).items():
            for method, operation in methods.items():
                other = documents.new.get(kind, {}).get(path, {}).get(method)
                place = f"{method.upper()} {path}:"
                if other is None:
                    yield f"{place} is gone"
                elif kind == "webhooks":
                    yield from _body(replace(documents.at(operation, other, place), is_sent=False))
                else:
                    yield from _operation(documents.at(operation, other, place))


def _operation(pair: _Pair) -> Iterator[str]:
    if pair.old.get("x-scope") != pair.new.get("x-scope"):
        yield f"{pair.place} needs another scope"
    yield from _parameters(pair)
    yield from _body(pair)
    for status, answer in pair.old["responses"].items():
        if status not in pair.new["responses"]:
            if status < "400":
                yield f"{pair.place} answer {status} is gone"
            continue
        answers = replace(pair.at(answer, pair.new["responses"][status], f"answer {status}"), is_sent=False)
        headers = answers.new.get("headers", {})
        for name, header in answers.old.get("headers", {}).items():
            compared = answers.at(header, headers.get(name, {}), f"header {name}")
            if compared.old.get("required") and not compared.new.get("required"):
                yield f"{compared.place} is no longer sure"
        yield from _content(answers)


def _parameters(pair: _Pair) -> Iterator[str]:
    old, new = (
        {
            (each["in"], each["name"]): each
            for each in (_follow(entry, root) for entry in side.get("parameters", ()))
        }
        for side, root in zip((pair.old, pair.new), pair.roots, strict=True)
    )
    for key, parameter in new.items():
        if parameter.get("required") and not old.get(key, {}).get("required"):
            yield f"{pair.place} parameter {key[1]} is now required"
    for key, parameter in old.items():
        if key in new:
            yield from _schema(pair.at(parameter["schema"], new[key]["schema"], f"parameter {key[1]}"))
        else:
            yield f"{pair.place} parameter {key[1]} is gone"


def _body(pair: _Pair) -> Iterator[str]:
    old, new = pair.old.get("requestBody"), pair.new.get("requestBody")
    if old is None or new is None:
        if old or (new or {}).get("required"):
            yield f"{pair.place} body is {'gone' if old else 'now required'}"
        return
    if new.get("required") and not old.get("required"):
        yield f"{pair.place} body is now required"
    yield from _content(pair.at(old, new, "body"))


def _content(pair: _Pair) -> Iterator[str]:
    for media_type, content in pair.old.get("content", {}).items():
        if media_type not in pair.new.get("content", {}):
            yield f"{pair.place} {media_type} is gone"
        else:
            yield from _schema(pair.at(content["schema"], pair.new["content"][media_type]["schema"]))


def _schema(pair: _Pair) -> Iterator[str]:
    """What breaks between two schemas. Those that refer to themselves are compared once."""
    names = (id(pair.old), id(pair.new))
    if names in pair.references:
        return
    pair = replace(pair, references=pair.references | {names})
    old, new = _choices(pair.old, pair.roots[0]), _choices(pair.new, pair.roots[1])
    if pair.is_sent and _defaults(pair.old, *old) != _defaults(pair.new, *new):
        yield f"{pair.place} has another default"
    if len(old) == len(new) == 1:
        yield from _values(pair.at(old[0], new[0]))
        yield from _members(pair.at(old[0], new[0]))
        return
    for choice in old if pair.is_sent else new:
        pairs = ((choice, other) for other in new) if pair.is_sent else ((other, choice) for other in old)
        if all(any(_schema(pair.at(*each))) for each in pairs):
            yield f"{pair.place} {_change(pair)} {choice.get('type', 'something')}"


def _choices(schema: Json, root: Json) -> list[Json]:
    """The schemas of which a value fits one."""
    schema = _follow(schema, root)
    for kind in ("anyOf", "oneOf"):
        if kind in schema:
            return [choice for inner in schema[kind] for choice in _choices(inner, root)]
    if "allOf" in schema:
        (inner,) = schema["allOf"]  # drf-spectacular has no other
        return _choices(inner, root)
    return [schema]


def _defaults(*schemas: Json) -> list[Any]:
    """What stands for a value that is left out, as the schema or those within it say. None or one."""
    return [schema["default"] for schema in schemas if "default" in schema][:1]


def _change(pair: _Pair) -> str:
    return "no longer takes" if pair.is_sent else "may now be"


def _types(schema: Json) -> frozenset[str]:
    types = schema.get("type", [])
    return frozenset([types] if isinstance(types, str) else types) or ANYTHING


def _values(pair: _Pair) -> Iterator[str]:
    """What breaks in the values that are not objects."""
    narrow, wide = (_types(side) for side in ((pair.old, pair.new) if pair.is_sent else (pair.new, pair.old)))
    for name in narrow - wide:
        if not (name == "integer" and "number" in wide):
            yield f"{pair.place} {_change(pair)} {name}"
    if not pair.is_sent:
        if pair.old.get("format") != pair.new.get("format"):
            yield f"{pair.place} has another format"
        return
    for value in set(map(str, pair.old.get("enum", ()))) - set(map(str, pair.new.get("enum", ()))):
        if "enum" in pair.new:
            yield f"{pair.place} no longer takes {value}"
    if "enum" in pair.new and "enum" not in pair.old:
        yield f"{pair.place} takes only some values now"
    for name in SAME:
        if pair.old.get(name) != pair.new.get(name) and name in pair.new:
            yield f"{pair.place} has another {name}"
    for names, sign in ((LOWER, 1), (UPPER, -1)):
        for name in names:
            if name in pair.new and (name not in pair.old or sign * (pair.new[name] - pair.old[name]) > 0):
                yield f"{pair.place} has a narrower {name}"


def _members(pair: _Pair) -> Iterator[str]:
    """What breaks in the members of objects and arrays."""
    demanding, other = (pair.new, pair.old) if pair.is_sent else (pair.old, pair.new)
    for name in set(demanding.get("required", ())) - set(other.get("required", ())):
        yield f"{pair.place}.{name} is {'now required' if pair.is_sent else 'no longer sure'}"
    for name, member in pair.old.get("properties", {}).items():
        if name in pair.new.get("properties", {}):
            inner = pair.at(member, pair.new["properties"][name])
            yield from _schema(replace(inner, place=f"{pair.place}.{name}"))
        else:
            yield f"{pair.place}.{name} is gone"
    old, new = (side.get("additionalProperties", True) for side in (pair.old, pair.new))
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _schema(pair.at(old, new, "any member"))
    elif pair.is_sent and old is not False and old != new and new is not True:
        yield f"{pair.place} takes no other members any more"
    if "items" in pair.old and "items" in pair.new:
        inner = pair.at(pair.old["items"], pair.new["items"])
        yield from _schema(replace(inner, place=f"{pair.place}[]"))
