"""The fields of an order, and of its steps' results, that people see and change: names, labels and types. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.utils.functional import Promise

from orders.engine.contracts import ResultField, ResultType
from orders.fields.address_rules import address_lines

__all__ = ["Attribute", "Field", "FieldType", "ResultField", "ResultType"]


class FieldType(StrEnum):
    """The kind of input that a form shows for a field."""

    TEXT = "text"
    TOKEN = "token"
    EMAIL = "email"
    ADDRESS = "address"
    COUNTRY = "country"
    NUMBER = "number"
    LINES = "lines"
    """How many are wanted of each line of the order: never more than were ordered. Only for customers."""


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of an order that an operator or a customer may edit. An address has `parts`, each of which is a field.

    `label` is for operators, and `customer_label` is what a customer reads in its place. `act` is what her link to its
    form says, such as "Give another address"; without one she has no form for it. `button` is what the form's button
    says, such as "Send it to this address". `autocomplete` is what her browser may fill its input in with. `choices`
    are the codes and names that she chooses a country from; without them, all countries. A part that `is_optional` may
    stay empty, and the address then has no such part. An address whose parts have the names in
    `orders.fields.postal_address` is checked by the rules of its country.
    """

    name: str
    label: str
    type: FieldType = FieldType.TEXT
    parts: tuple["Field", ...] = ()
    customer_label: str | Promise = ""
    act: str | Promise = ""
    button: str | Promise = ""
    autocomplete: str = ""
    choices: Callable[[], Sequence[tuple[str, str]]] | None = None
    is_optional: bool = False

    @property
    def has_country(self) -> bool:
        """Whether it is an address by whose country the other parts are checked."""
        return self.type is FieldType.ADDRESS and any(part.name == "country" for part in self.parts)

    def written(self, value: Mapping[str, object]) -> Sequence[str]:
        """The parts of a value as operators read them: an address as it is written in its country, then the phone."""
        texts = {part.name: str(value[part.name]) for part in self.parts if value.get(part.name)}
        if not self.has_country:
            return list(texts.values())
        lines = address_lines(texts, country_name=texts.get("country", ""))
        return [*lines, texts["phone"]] if "phone" in texts else lines


@dataclass(frozen=True, kw_only=True)
class ResultFact:
    """What operators read of a step's result among an order's facts, such as a tracking number; `url` leads further."""

    label: str
    text: str
    url: str = ""


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """Something that orders are searched by, such as a batch or a city, with its label for people."""

    name: str
    label: str
