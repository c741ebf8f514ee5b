"""Serializer fields that take what they say and convert nothing."""

import re
from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from orders.fields.text import is_one_line

MOST_UNKNOWN = 20


class Text(serializers.CharField):
    """One line of text: a JSON string that is not blank and has no control characters."""

    default_error_messages = {
        "invalid": "This must be a string.",
        "broken": "This must not have control characters.",
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        if not data.strip():
            self.fail("blank")
        if not is_one_line(data):
            self.fail("broken")
        return data


class Token(Text):
    """A text of a pattern. `says` tells what is allowed."""

    def __init__(self, *, pattern: str, says: str, **options: Any) -> None:
        super().__init__(**options)
        self.pattern = re.compile(pattern)
        self.error_messages["pattern"] = says

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not self.pattern.fullmatch(text):
            self.fail("pattern")
        return text


class Whole(serializers.IntegerField):
    """A whole JSON number: not "1", not 1.0, not true."""

    default_error_messages = {"invalid": "This must be a whole number."}

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return data


class Strict(serializers.Serializer[Any]):
    """An object without members of other names than its fields."""

    default_error_messages = {"unknown": "There is no such field."}

    def to_internal_value(self, data: Any) -> Any:
        unknown = [name for name in data if name not in self.fields] if isinstance(data, Mapping) else []
        mistakes: dict[str, Any] = {name: [self.error_messages["unknown"]] for name in unknown[:MOST_UNKNOWN]}
        try:
            values = super().to_internal_value(data)
        except serializers.ValidationError as error:
            mistakes = {**error.detail, **mistakes} if isinstance(error.detail, dict) else mistakes
        if mistakes:
            raise serializers.ValidationError(mistakes)
        return values
