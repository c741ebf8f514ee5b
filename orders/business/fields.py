"""The fields of an order, and of its steps' results, that people see and change: names, labels and types. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from orders.engine.contracts import ResultField, ResultType

__all__ = ["Attribute", "Field", "FieldType", "ResultField", "ResultType"]


class FieldType(StrEnum):
    """The kind of input that a form shows for a field."""

    TEXT = "text"
    TOKEN = "token"
    EMAIL = "email"
    ADDRESS = "address"
    COUNTRY = "country"
    NUMBER = "number"


@dataclass(frozen=True, kw_only=True)
class Field:
    """A field of an order that an operator may edit. An address has `parts`, each of which is a field."""

    name: str
    label: str
    type: FieldType = FieldType.TEXT
    parts: tuple["Field", ...] = ()


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """Something that orders are searched by, such as a batch or a city, with its label for people."""

    name: str
    label: str
