"""The OpenAPI document of the last release, against which the next one is compared (`orders.api.breaking_changes`).

It is kept without what promises nothing, with one line for each operation and each component, so that a difference can
be read.
"""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from drf_spectacular.generators import SchemaGenerator

from orders.access import api_versions

SAID_ONLY = frozenset({"description", "summary", "example", "examples", "tags", "title"})
NAMES = frozenset({"properties", "paths", "webhooks", "schemas", "headers", "parameters"})
"""Where the keys are names, and mean nothing."""
PARTS = ("paths", "webhooks", "components")


def released_path() -> Path:
    """Where the released document of the newest version is."""
    return Path(settings.BASE_DIR) / "docs" / "openapi" / f"{api_versions.newest().name}.json"


def read_released() -> dict[str, Any] | None:
    """The released document of the newest version; None if that version has not been released."""
    path = released_path()
    return json.loads(path.read_text()) if path.exists() else None


def current_document() -> dict[str, Any]:
    """What this release promises, in the form in which it is kept."""
    generator: Any = SchemaGenerator()  # type: ignore[no-untyped-call]
    document = json.loads(json.dumps(generator.get_schema(public=True), default=str))
    return {part: _promised(document[part], are_names=part != "components") for part in PARTS}


def render_document(document: dict[str, Any]) -> str:
    """A document as it is kept."""
    parts = []
    for part, groups in document.items():
        inner = [f" {json.dumps(name)}: {_render_group(group)}" for name, group in sorted(groups.items())]
        parts.append(f"{json.dumps(part)}: {{\n" + ",\n".join(inner) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _render_group(group: dict[str, Any]) -> str:
    lines = [
        f"  {json.dumps(name)}: {json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(',', ':'))}"
        for name, value in sorted(group.items())
    ]
    return "{\n" + ",\n".join(lines) + "\n }"


def _promised(value: Any, *, are_names: bool = False) -> Any:
    if isinstance(value, list):
        return [_promised(item) for item in value]
    if isinstance(value, dict):
        return {
            name: _promised(member, are_names=name in NAMES and not are_names)
            for name, member in value.items()
            if are_names or name not in SAID_ONLY
        }
    return value
