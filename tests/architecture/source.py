"""The project's source as text and syntax trees: which module imports which, without importing anything."""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROLES = [f"orders.engine.{role}" for role in ("submission", "scheduler", "agent_host", "supervisor")]
ENGINE_MODELS = (
    "orders.models.state",
    "orders.models.channel",
    "orders.models.health",
    "orders.models.figures",
    "orders.models.choices",
    "orders.models.pauses",
)
PACKAGES = ("orders", "sasweb", "sandbox", "examples")


@dataclass(frozen=True)
class Import:
    """One name that a module imports, from the project or elsewhere. `target` is the module that defines it."""

    module: str
    line: int
    target: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.target} ({self.name})"


@cache
def modules() -> dict[str, Path]:
    """Every module of the product by its dotted name, except migrations, which are generated."""
    paths = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if "migrations" not in parts:
                paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


@cache
def tree(module: str) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(modules()[module].read_text(), module)


@cache
def imports(module: str) -> tuple[Import, ...]:
    """Everything that a module imports, anywhere in the file."""
    return tuple(read_imports(module, tree(module)))


def read_imports(module: str, syntax: ast.Module) -> Iterator[Import]:
    """The imports of a syntax tree. A name that a package only re-exports counts for the module that defines it."""
    for node in ast.walk(syntax):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, node.lineno, alias.name, alias.name)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield Import(module, node.lineno, _home(node.module or "", alias.name), alias.name)


def _home(source: str, name: str) -> str:
    """The module that `from source import name` refers to."""
    if f"{source}.{name}" in modules():
        return f"{source}.{name}"
    path = modules().get(source)
    if path is not None and path.name == "__init__.py":
        for node in tree(source).body:
            if isinstance(node, ast.ImportFrom) and name in {
                alias.asname or alias.name for alias in node.names
            }:
                return _home(node.module or "", name)
    return source


def is_within(module: str, *places: str) -> bool:
    """Whether a module is one of these places, or inside one of them."""
    return any(module == place or module.startswith(f"{place}.") for place in places)


def within(*places: str) -> list[str]:
    """The modules inside these places."""
    return [module for module in modules() if is_within(module, *places)]


@cache
def reach(module: str) -> frozenset[str]:
    """Every module of the product that a module imports, directly or through others. Packages that Python imports on
    the way to a module do not count: in this project they only have a docstring or re-export names."""
    reached: set[str] = set()
    todo = [module]
    while todo:
        for imported in imports(todo.pop()):
            if imported.target in modules() and imported.target not in reached:
                reached.add(imported.target)
                todo.append(imported.target)
    return frozenset(reached)


def is_ours(target: str) -> bool:
    return is_within(target, *PACKAGES)


def offences(
    where: Iterable[str],
    *,
    is_wrong: Callable[[str], bool],
    unless: Callable[[Import], bool] = lambda imported: False,
) -> list[str]:
    """The wrong imports of these modules, as lines to read."""
    return [
        str(imported)
        for module in where
        for imported in imports(module)
        if is_wrong(imported.target) and not unless(imported)
    ]


def only(*allowed: str) -> Callable[[str], bool]:
    """Says of a module whether it is wrong: it belongs to the product but is not in these places."""
    return lambda target: is_ours(target) and not is_within(target, *allowed)


def never(*forbidden: str) -> Callable[[str], bool]:
    """Says of a module whether it is wrong: it is in one of these places."""
    return lambda target: is_within(target, *forbidden)
