"""The variables of the environment that the businesses read, with their defaults."""

import inspect
from collections.abc import Callable
from typing import Any

from orders.business import registry
from orders.shop.agents import agents
from orders.shop.owner import read_owner
from orders.shop.served import read_not_served
from sasweb.environment import Environment


class RecordingEnvironment(Environment):
    """An environment that notes each variable that is read, and its default."""

    def __init__(self) -> None:
        super().__init__()
        self.defaults: dict[str, Any] = {}

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name.startswith("_") or not callable(value):
            return value
        return lambda *arguments, **options: self._note(value, *arguments, **options)

    def _note(self, read: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        call = inspect.signature(read).bind(*arguments, **options)
        call.apply_defaults()
        if "name" in call.arguments:  # the others read what they need by its name
            self.defaults[call.arguments["name"]] = call.arguments["default"]
        return read(*arguments, **options)


def defaults_of_businesses() -> dict[str, Any]:
    """Each variable that a business reads when a process starts, with its default."""
    environment = RecordingEnvironment()
    agents(environment)
    read_owner(environment)
    read_not_served(environment)
    for kind in registry.kinds():
        kind.versions(environment)
    return environment.defaults
