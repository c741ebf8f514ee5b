"""Serializer fields that accept exactly what they name, and convert nothing else into it."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, ClassVar, TypeVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from orders.fields.numbers import read_whole_number
from orders.fields.order_numbers import EXAMPLE, MISTAKEN, MistakenNumberError, read_number
from orders.fields.text import has_web_address, is_one_line
from orders.selectors.paging import Position, read_position

MOST_UNKNOWN = 20
"""How many unknown fields of an object are reported, so that a hostile body cannot cause a huge response."""

_BREAKING = r"\u0000-\u001f\u007f-\u009f\u2028\u2029"
"""`orders.fields.text.BREAKING_CATEGORIES` in the pattern of a JSON schema. No JSON in UTF-8 has surrogates."""


UUID_PATTERN = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


class Text(serializers.CharField):
    """One line of text: a JSON string that is not blank and has no control characters."""

    schema: Mapping[str, Any] = {"pattern": rf"^[^{_BREAKING}]*[^\s{_BREAKING}][^{_BREAKING}]*$"}
    """What the OpenAPI document adds to the field's type and its limits (`orders.api.schema`)."""
    default_error_messages = {
        "invalid": "This must be a string.",
        "control_characters": (
            "This must be one line. Put a space in place of each line break, and leave out other control characters."
        ),
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if not data.strip():
            self.fail("blank")
        if not is_one_line(data):
            self.fail("control_characters")
        return data


class OneLine(Text):
    """A line of text that may be empty."""

    schema: Mapping[str, Any] = {"pattern": rf"^([^{_BREAKING}]*[^\s{_BREAKING}][^{_BREAKING}]*)?$"}

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_blank=True, **options)


class Prose(serializers.CharField):
    """Text of any number of lines, which may be empty: a JSON string without NUL."""

    schema = {"pattern": r"^[^\u0000]*$"}
    default_error_messages = {"invalid": "This must be a string."}

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, allow_blank=True, **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


class Note(serializers.CharField):
    """Text of any number of lines that has something to read in it."""

    schema = {"pattern": rf"^[^\u0000]*[^\s{_BREAKING}][^\u0000]*$"}
    default_error_messages = {"invalid": "This must be a string."}

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if not any(is_one_line(character) and not character.isspace() for character in data):
            self.fail("blank")
        return data


class MailedText(Text):
    """Text that an email to a stranger may contain, so no url of a page is in it."""

    default_error_messages = {"web_address": "This must not contain a web address."}

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if has_web_address(text):
            self.fail("web_address")
        return text


class Token(Text):
    """Text that matches a pattern. `message` tells the client what is allowed."""

    def __init__(self, *, pattern: str, message: str, **options: Any) -> None:
        super().__init__(**options)
        self.pattern = re.compile(pattern)
        self.schema = {"pattern": f"^({pattern})$"}
        self.error_messages["pattern"] = message

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not self.pattern.fullmatch(text):
            self.fail("pattern")
        return text


class Whole(serializers.IntegerField):
    """A whole JSON number: not "1", not 1.5, not true. 1.0 is one, as in JSON schemas."""

    default_error_messages = {"invalid": "This must be a whole number."}

    def to_internal_value(self, data: Any) -> int:
        is_whole = isinstance(data, int) or (isinstance(data, float) and data.is_integer())
        if not is_whole or isinstance(data, bool):
            self.fail("invalid")
        return int(data)


class Switch(serializers.BooleanField):
    """A JSON boolean: not "true", not 1, not null."""

    default_error_messages = {"invalid": "This must be true or false."}

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid")
        return data


class Number(serializers.FloatField):
    """A JSON number: not "1", not true."""

    default_error_messages = {"invalid": "This must be a number."}

    def to_internal_value(self, data: Any) -> float:
        if not isinstance(data, int | float) or isinstance(data, bool):
            self.fail("invalid")
        try:
            return float(data)
        except OverflowError:
            self.fail("invalid")


class Digits(serializers.IntegerField):
    """A whole number in a query parameter, written in ASCII digits."""

    def __init__(self, *, min_value: int, max_value: int, **options: Any) -> None:
        message = f"This must be a whole number from {min_value} to {max_value}."
        messages: dict[str, Any] = dict.fromkeys(("invalid", "min_value", "max_value"), message)
        super().__init__(min_value=min_value, max_value=max_value, error_messages=messages, **options)
        self._largest = max_value

    def to_internal_value(self, data: Any) -> int:
        number = read_whole_number(data, largest=self._largest)
        if number is None:
            self.fail("invalid")
        return number


class Word(serializers.ChoiceField):
    """One of a few words, which the OpenAPI document explains."""

    def __init__(self, choices: Sequence[str], **options: Any) -> None:
        message = f"This must be one of {', '.join(choices)}."
        super().__init__(choices, error_messages={"invalid_choice": message}, **options)


class Choice(Word):
    """A query parameter that takes one of a few words."""

    def __init__(self, choices: Sequence[str], **options: Any) -> None:
        super().__init__(choices, **options)
        # Otherwise the OpenAPI document explains each word separately.
        extend_schema_field({"type": "string", "enum": [*choices]})(self)  # type: ignore[type-var]


class Flag(Choice):
    """A query parameter that is `true` or `false`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(["true", "false"], **options)

    def to_internal_value(self, data: Any) -> bool:  # type: ignore[override]
        word: str = super().to_internal_value(data)
        return word == "true"


class Choices(serializers.Field[list[str], str, list[str], Any]):
    """A query parameter that takes some of a few words, given with commas between them or one at a time."""

    default_error_messages = {
        "unknown": "There is no {unknown} here. Give one or more of {choices}, with commas between them."
    }

    def __init__(self, choices: Sequence[str], **options: Any) -> None:
        super().__init__(**options)
        self.choices = list(choices)
        words = {"type": "string", "enum": self.choices}
        extend_schema_field({"type": "array", "items": words, "minItems": 1})(self)  # type: ignore[type-var]

    def to_internal_value(self, data: str) -> list[str]:
        words = data.split(",")
        unknown = [word for word in words if word not in self.choices]
        if unknown:
            shown = ", ".join(repr(word[:60]) for word in unknown[:MOST_UNKNOWN])
            self.fail("unknown", unknown=shown, choices=", ".join(self.choices))
        return list(dict.fromkeys(words))


@extend_schema_field({"type": "string", "pattern": "^[0-9]{1,18}$"})
class NumberCursor(Digits):
    """A cursor that is a number, which clients take as it is."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=0, max_value=10**18 - 1, **options)


@extend_schema_field({"type": "string", "pattern": "^-?[0-9]{1,18}-[0-9a-f]{32}$"})
class OrderCursor(serializers.Field[Position, str, str, Any]):
    """A cursor that is a position in a list of orders, which clients take as it is."""

    default_error_messages = {
        "invalid": "This is not a valid cursor for this list. Start without one, and follow `next`."
    }

    def to_internal_value(self, data: str) -> Position:
        position = read_position(data)
        if position is None:
            self.fail("invalid")
        return position


class NumberOfOrder(Token):
    """The number of an order, in any case, with or without its hyphen. It is read as it is written everywhere."""

    default_error_messages = {"mistaken": MISTAKEN}

    def __init__(self, **options: Any) -> None:
        message = f"This must be the number of an order, such as {EXAMPLE}."
        super().__init__(pattern="[0-9A-Za-z]{4}-?[0-9A-Za-z]{4}", message=message, **options)

    def to_internal_value(self, data: Any) -> str:
        try:
            return read_number(super().to_internal_value(data)) or ""
        except MistakenNumberError:
            self.fail("mistaken")


class Moment(serializers.DateTimeField):
    """A time with its offset in a query parameter. Accepts an offset whose `+` was decoded as a space."""

    default_error_messages = {"invalid": "This must be an ISO 8601 time with a UTC offset."}

    def to_internal_value(self, data: Any) -> datetime:
        try:
            moment = datetime.fromisoformat(data.replace(" ", "+") if "T" in data else data)
            if moment.tzinfo is None:
                raise ValueError("no offset")
            return moment.astimezone(UTC)
        except (ValueError, OverflowError) as error:
            raise serializers.ValidationError(self.error_messages["invalid"]) from error


_Serializer = TypeVar("_Serializer", bound=serializers.Serializer[Any])


@cache
def shared(kind: type[_Serializer]) -> _Serializer:
    """A serializer of this kind for all requests and threads: making one copies each of its fields, which takes longer
    than using it. It must not be given data, for it would keep them."""
    return kind()


class Strict(serializers.Serializer[Any]):
    """An object that refuses members other than its fields. With `may_be_left_out`, no body at all counts as an empty
    one. `takes_others` is for the document of an object of which somebody else reads the other members. At least
    `least_members` must be there."""

    may_be_left_out: ClassVar[bool] = False
    least_members: ClassVar[int] = 0
    takes_others: ClassVar[bool] = False
    default_error_messages = {
        "unknown": "Unknown field.",
        "invalid": "This must be an object.",
        "few": "Send at least one member.",
    }

    @classmethod
    def read(cls, data: Any) -> Any:
        """The values in what a client has sent. Raises `ValidationError`."""
        if data is None:
            raise serializers.ValidationError("No data provided")
        return shared(cls).run_validation(data)

    def to_internal_value(self, data: Any) -> Any:
        unknown = [name for name in data if name not in self.fields] if isinstance(data, Mapping) else []
        mistakes: dict[str, Any] = {name: [self.error_messages["unknown"]] for name in unknown[:MOST_UNKNOWN]}
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            mistakes = {**error.detail, **mistakes} if isinstance(error.detail, dict) else mistakes
        if mistakes:
            raise serializers.ValidationError(mistakes)
        if len(data) < self.least_members:
            self.fail("few")
        return values
