"""A response's JSON is what the serializer itself would write."""

import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from django.utils.translation import gettext_lazy
from rest_framework import serializers
from rest_framework.renderers import JSONRenderer

from orders.api.rendering import Renderer
from orders.api.representations import Out


class Colour(enum.StrEnum):
    RED = "red"


class Inner(Out):
    number = serializers.IntegerField()


class Outer(Out):
    """A member of each kind."""

    id = serializers.UUIDField()
    text = serializers.CharField()
    renamed = serializers.CharField(source="text")
    deep = serializers.IntegerField(source="inner.number")
    number = serializers.IntegerField()
    at = serializers.DateTimeField()
    day = serializers.DateTimeField(source="at", format="%Y-%m-%d")
    colour = serializers.ChoiceField(choices=list(Colour))
    is_red = serializers.BooleanField()
    price = serializers.DecimalField(max_digits=5, decimal_places=2)
    inner = Inner(allow_null=True)
    many = Inner(many=True)
    own = Inner(source="*")
    anything = serializers.JSONField()
    missing = serializers.CharField(required=False)
    default = serializers.CharField(default="usual")
    called = serializers.CharField()
    method = serializers.SerializerMethodField()
    secret = serializers.CharField(write_only=True)

    def get_method(self, instance: Any) -> str:
        return "made"


@dataclass(frozen=True)
class Thing:
    id: UUID
    text: str
    number: int
    at: datetime
    colour: Colour
    is_red: bool
    price: Decimal
    inner: Any
    many: Any
    anything: Any
    secret: str = "s"

    def called(self) -> str:
        return "called"


THING = Thing(
    id=UUID(int=7),
    text="Ada",
    number=3,
    at=datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone(timedelta(hours=2))),
    colour=Colour.RED,
    is_red=True,
    price=Decimal("1.5"),
    inner={"number": 1},
    many=[{"number": 2}, {"number": 3}],
    anything={"a": [1, None]},
)


def as_mapping(thing: Thing) -> dict[str, Any]:
    return {**vars(thing), "called": thing.called}


@pytest.mark.parametrize("thing", [THING, as_mapping(THING), MappingProxyType(as_mapping(THING))])
def test_an_object_is_written_as_its_serializer_would_write_it(thing: Any) -> None:
    written = Outer.render(thing)
    assert written == serializers.Serializer.to_representation(Outer(), thing)
    assert written["at"] == "2026-01-02T01:04:05.000006Z"
    assert {"missing", "secret"}.isdisjoint(written)
    assert (written["default"], written["called"], written["method"]) == ("usual", "called", "made")


@pytest.mark.parametrize(
    "at", [datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 2, 3, 4, 5, 999_999, tzinfo=UTC)]
)
def test_a_time_is_written_as_its_field_would_write_it(at: datetime) -> None:
    class Timed(Out):
        at = serializers.DateTimeField()

    assert Timed.render({"at": at}) == serializers.Serializer.to_representation(Timed(), {"at": at})


def test_what_is_none_is_null_unless_it_is_sparse() -> None:
    class Few(Out):
        sparse = ("spare",)

        full = serializers.IntegerField(allow_null=True)
        spare = serializers.IntegerField(allow_null=True)

    nothing: Mapping[str, None] = {"full": None, "spare": None}
    assert Few.render(nothing) == {"full": None}


def test_a_value_that_is_missing_is_named() -> None:
    with pytest.raises(KeyError, match="number"):
        Inner.render({})


@pytest.mark.parametrize(
    "data",
    [
        {"text": "π\u2028", "number": 1.5, "nothing": None, "colour": Colour.RED, "id": UUID(int=7)},
        {"lazy": gettext_lazy("Orders"), "price": Decimal("1.50"), "at": datetime(2026, 1, 2, tzinfo=UTC)},
        {"large": 2**70, "keys": {1: "one"}},
        [],
        "",
    ],
)
def test_json_says_the_same_as_that_of_the_framework(data: Any) -> None:
    assert json.loads(Renderer().render(data)) == json.loads(JSONRenderer().render(data))


def test_json_is_indented_for_a_client_that_asks_for_it() -> None:
    assert Renderer().render({"a": 1}, "application/json; indent=2") == b'{\n  "a": 1\n}'


def test_a_response_without_data_has_no_body() -> None:
    assert Renderer().render(None) == b""
