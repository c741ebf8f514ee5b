"""A client's own words for its orders, in the body of a new order and in the query of a list."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers

from orders.api.fields import Prose, Strict, Text
from orders.business.own_words import LONGEST_NAME, LONGEST_REFERENCE, LONGEST_VALUE, MOST_METADATA

NAME, VALUE = Text(max_length=LONGEST_NAME), Prose(max_length=LONGEST_VALUE)

METADATA = {"$ref": "#/components/schemas/Metadata"}
"""How the OpenAPI document refers to `METADATA_SCHEMA`: generators of clients make one class of it."""
METADATA_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": f"Up to {MOST_METADATA} texts of a client's own, by their names.",
    "maxProperties": MOST_METADATA,
    "propertyNames": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME, **Text.schema},
    "additionalProperties": {"type": "string", "maxLength": LONGEST_VALUE, **Prose.schema},
}


class Reference(Text):
    """A client's own name for an order."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=LONGEST_REFERENCE, default="", **options)


@extend_schema_field(METADATA)
class Metadata(serializers.Field[Mapping[str, str], Any, Any, Any]):
    """Texts of a client's own, by their names."""

    default_error_messages = {
        "invalid": "This must be an object whose members are texts.",
        "too_many": f"There may be at most {MOST_METADATA}.",
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(default=dict, **options)

    def to_internal_value(self, data: Any) -> Mapping[str, str]:
        if not isinstance(data, Mapping):
            self.fail("invalid")
        if len(data) > MOST_METADATA:
            self.fail("too_many")
        mistakes = {name: reasons for name, text in data.items() if (reasons := _mistakes(name, text))}
        if mistakes:
            raise serializers.ValidationError(mistakes)
        return dict(data)


@extend_schema_field(METADATA)
class SentMetadata(serializers.DictField):
    """The same in a response."""

    child = VALUE


def _mistakes(name: str, text: object) -> list[str]:
    """What is wrong with a name or, if nothing is, with its text."""
    for field, value, about in ((NAME, name, "The name: "), (VALUE, text, "")):
        try:
            field.run_validation(value)
        except serializers.ValidationError as error:
            return [f"{about}{detail}" for detail in error.detail]
    return []


class OwnWordsIn(Strict):
    """What a client may say of a new order in its own words."""

    reference = Reference(
        help_text="Your own name for the order. No other order of your account can have it while this one can be found."
    )
    metadata = Metadata(
        help_text=f"Up to {MOST_METADATA} texts of your own, by their names. They come back as you sent them."
    )


class OwnWordsQuery(Strict):
    """Selects orders by their client's own words. Metadata are written `metadata[name]=text`."""

    reference = Reference(help_text="Only the order with exactly this reference.")
    metadata = Metadata()

    def to_internal_value(self, data: Any) -> Any:
        inner = {name[9:-1]: name for name in data if name.startswith("metadata[") and name.endswith("]")}
        values = {name: text for name, text in data.items() if name not in inner.values()}
        if inner:
            values["metadata"] = {part: data[name] for part, name in inner.items()}
        try:
            return super().to_internal_value(values)
        except serializers.ValidationError as error:
            raise serializers.ValidationError(_by_parameter(error.detail)) from error


def _by_parameter(mistakes: Any) -> Any:
    """The mistakes by the parameters that have them."""
    inner = mistakes.get("metadata")
    if not isinstance(inner, Mapping):
        return mistakes
    others = {name: reasons for name, reasons in mistakes.items() if name != "metadata"}
    return {**others, **{f"metadata[{name}]": reasons for name, reasons in inner.items()}}


METADATA_PARAMETER = OpenApiParameter(
    "metadata",
    METADATA,
    style="deepObject",
    explode=True,
    description="Only orders whose metadata have all of these: `metadata[name]=text`, once for each name.",
)
