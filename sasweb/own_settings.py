"""What the project's settings take from the businesses: constants of their modules `project_settings`.

| constant | what it is |
|---|---|
| `CONTEXT_PROCESSORS` | added to those of the templates |
| `LOGIN_URL`, `LOGIN_REDIRECT_URL` | Django's; without them people sign in to the console |
| `LIMITED_POSTS` | the limits (`sasweb.limits`) that a POST to each of its pages counts for |
| `LIMITED_SEARCHES` | its API views that count for `search.address` or `search.account` if the request has parameters |
| `REPEATED_POSTS` | its pages whose form changes nothing more when it comes again, and the template that offers that |
| `API_TAGS` | the groups of its operations in the API's documentation, each with a `name` and a `description` |
| `REQUIRED_VARIABLES` | what must be set in the environment where no sandbox stands in for a service |
"""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any


class OwnSettings:
    """The constants of these packages."""

    def __init__(self, packages: Sequence[str]) -> None:
        names = [f"{package}.project_settings" for package in packages]
        self._modules = [import_module(name) for name in names if find_spec(name) is not None]

    def first(self, name: str, default: Any) -> Any:
        """The constant of the first business that has it."""
        return next((getattr(module, name) for module in self._modules if hasattr(module, name)), default)

    def all(self, name: str) -> list[Any]:
        """The values of all businesses, one after another."""
        return [value for module in self._modules for value in getattr(module, name, ())]

    def merged(self, name: str) -> dict[str, Any]:
        """The entries of all businesses' mappings."""
        return {key: value for module in self._modules for key, value in getattr(module, name, {}).items()}
