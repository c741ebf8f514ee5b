"""A URL of every page there is, for tests of what holds everywhere."""

from typing import Any

from django.urls import URLPattern, get_resolver, reverse
from django.urls.resolvers import RoutePattern

from tests.web.test_deny_by_default import views

UNKNOWN = "018f0000-0000-7000-8000-000000000000"
BY_NAME: dict[str, Any] = {"app_label": "orders", "url": "nothing/", "code": "not_found", "act": "pause"}
BY_CONVERTER: dict[str, Any] = {
    "UUIDConverter": UNKNOWN,
    "IntConverter": 1,
    "SlugConverter": "mix",
    "StringConverter": "nothing",
    "PathConverter": "1",
    "QueueNameConverter": "replies",
}


def every_place() -> dict[str, str]:
    """A URL of each named page of every face, by `namespace:name`. What they are about need not exist."""
    names = {
        f"{namespace}:{pattern.name}" if namespace else pattern.name: pattern
        for namespace, pattern in views(get_resolver().url_patterns)
        if pattern.name
    }
    return {name: reverse(name, kwargs=arguments(pattern)) for name, pattern in names.items()}


def arguments(pattern: URLPattern) -> dict[str, Any]:
    """Values that a page's URL takes."""
    names: dict[str, Any] = {}
    if isinstance(pattern.pattern, RoutePattern):
        names = {
            name: BY_CONVERTER[type(converter).__name__]
            for name, converter in pattern.pattern.converters.items()
        }
    else:
        names = dict.fromkeys(pattern.pattern.regex.groupindex)
    return {name: BY_NAME.get(name, value) for name, value in names.items()}
