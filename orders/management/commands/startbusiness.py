"""`manage.py startbusiness NAME [FOLDER]`: writes a business that runs at once."""

import keyword
import re
from argparse import ArgumentParser
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from string import Template

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

TEMPLATE = Path(__file__).resolve().parents[1] / "business_template"
SUFFIX = ".tmpl"
"""What the template's files end in, so that no tool takes them for code."""
NEXT_STEPS = """\
$name is in $place. Start its service and everything else, each in a terminal of its own:
  .venv/bin/python -m $name.standin
  BUSINESSES=$businesses bin/up
Then, in a third one, place an order, and run its tests:
  .venv/bin/python manage.py start_order $kind --subject first --data '{"item": "bread", "quantity": 2}'
  bin/test $name/tests
"""


class Command(BaseCommand):
    help = "Write a business of your own: a package with a workflow, an agent, a stand-in service and tests."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the package's name, in lower case, such as bakery")
        parser.add_argument(
            "folder", nargs="?", type=Path, default=Path(), help="where the package goes (default: here)"
        )

    def handle(self, *, name: str, folder: Path, **options: object) -> None:
        check_name(name)
        place = folder.resolve() / name
        if place.exists():
            raise CommandError(f"{place} exists already; choose another name, or another folder")
        values = values_of(name)
        write(place, values)
        self.stdout.write(Template(NEXT_STEPS).substitute(values, place=place), ending="")


def check_name(name: str) -> None:
    """Raises `CommandError` if no package or application can have this name, or one has it already."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name) or keyword.iskeyword(name):
        raise CommandError(
            f"{name!r} cannot be a package's name; use small letters, digits and _, such as bakery"
        )
    if find_spec(name) is not None:
        raise CommandError(f"there is a package {name!r} already; choose another name")


def values_of(name: str) -> dict[str, str]:
    """What stands for the placeholders of the template."""
    return {
        "name": name,
        "Name": "".join(word.capitalize() for word in name.split("_")),
        "NAME": name.upper(),
        "kind": f"{name.replace('_', '-')}-order",
        "label": name.replace("_", " "),
        "businesses": ",".join([*settings.BUSINESSES, name]),
    }


def write(place: Path, values: dict[str, str]) -> None:
    """Writes every file of the template below `place`."""
    for source in sorted(TEMPLATE.rglob(f"*{SUFFIX}")):
        target = place / source.relative_to(TEMPLATE).with_suffix("")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(sort_imports(Template(source.read_text()).substitute(values)))


def sort_imports(code: str) -> str:
    """Sorts each run of imports that takes names from modules: where the package's own go depends on its name."""
    lines: list[str] = []
    for is_import, group in groupby(code.splitlines(), lambda line: line.startswith("from ")):
        neighbours = list(group)
        lines += sorted(neighbours) if is_import else neighbours
    return "".join(f"{line}\n" for line in lines)
