"""Filters of the pages that draw figures."""

from collections.abc import Mapping
from typing import Any

from django import template

register = template.Library()


@register.filter
def of(by_name: Mapping[Any, Any], name: Any) -> Any:
    """What a mapping has under a name, or None."""
    return by_name.get(name)
