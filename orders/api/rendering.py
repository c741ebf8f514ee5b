"""Writes objects as the JSON that a serializer declares, as the serializer itself would, in a third of its time.

What a field needs, where its value is and how it is written, is found out once for each field instead of each value.
"""

import contextlib
from collections.abc import Callable, Container, Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson
from rest_framework import serializers
from rest_framework.fields import Field, SkipField
from rest_framework.renderers import JSONRenderer

Write = Callable[[Any], Any]

WHOLE = "*"
"""The source of a field that is written from the whole object."""


class Member(NamedTuple):
    """A member of a JSON object. `source` is the attribute or key that has its value, which nothing has where it is not
    so simple; then the field itself reads it. One that `is_sparse` is left out if it has no value."""

    name: str
    source: str
    write: Write
    field: Field[Any, Any, Any, Any]
    is_sparse: bool


def members_of(fields: Iterable[Field[Any, Any, Any, Any]], *, sparse: Container[str]) -> list[Member]:
    """The members that these fields write."""
    return [
        Member(
            name=str(field.field_name),
            source=str(field.source),
            write=_writer_of(field),
            field=field,
            is_sparse=field.field_name in sparse,
        )
        for field in fields
        if not field.write_only
    ]


def write_members(members: Iterable[Member], instance: Any) -> dict[str, Any]:
    """The JSON object with those of the members that the object has."""
    written: dict[str, Any] = {}
    is_dict = type(instance) is dict
    for name, source, write, field, is_sparse in members:
        try:
            if source == WHOLE:
                value = instance
            elif is_dict:
                value = instance[source]
            else:
                value = getattr(instance, source)
            is_read = not callable(value)
        except (AttributeError, KeyError):
            is_read = False
        if not is_read:
            try:
                value = field.get_attribute(instance)  # which may have a default, or says what is wrong
            except SkipField:
                continue
        if value is not None:
            written[name] = write(value)
        elif not is_sparse:
            written[name] = None
    return written


def _writer_of(field: Field[Any, Any, Any, Any]) -> Write:
    """What writes a field's values: mostly a plain function where the field would look at its options each time."""
    own = type(field).to_representation
    if own is serializers.CharField.to_representation:
        return str
    if own is serializers.IntegerField.to_representation:
        return int
    if own is serializers.DateTimeField.to_representation and not {"format", "timezone"} & vars(field).keys():
        return write_time
    if isinstance(field, serializers.SerializerMethodField):
        write: Write = getattr(field.parent, str(field.method_name))
        return write
    return field.to_representation


def write_time(value: datetime) -> str:
    """A time in UTC."""
    return f"{value.astimezone(UTC).isoformat().removesuffix('+00:00')}Z"


class Renderer(JSONRenderer):
    """Writes a response's JSON with orjson, or as REST framework does what orjson does not know."""

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None
    ) -> bytes:
        """The JSON as bytes; none if there are no data. Raises `TypeError` for what JSON cannot say."""
        is_indented = self.get_indent(accepted_media_type or "", renderer_context or {})
        if data is not None and not is_indented:
            # Not known are lazy texts, decimal numbers, integers of more than 64 bits and half a surrogate pair.
            with contextlib.suppress(TypeError):
                return orjson.dumps(data, option=orjson.OPT_PASSTHROUGH_DATETIME)
        rendered: bytes = super().render(data, accepted_media_type, renderer_context)
        return rendered
