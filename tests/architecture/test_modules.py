"""Modules are small, and the tests of imports see every import in them."""

import ast

import pytest

from tests.architecture.source import (
    modules,
    reach,
    read_imports,
    tree,
)

LARGEST_FILE = 350
LARGEST_FUNCTION = 60


@pytest.mark.parametrize("module", sorted(modules()))
def test_a_module_is_small_and_imports_by_full_names(module: str) -> None:
    lines = modules()[module].read_text().count("\n")
    assert lines <= LARGEST_FILE, f"{module} has {lines} lines"
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= LARGEST_FUNCTION, f"{module}:{node.lineno} {node.name} has {length} lines"
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno} imports by a relative name"


def test_every_form_of_import_is_seen() -> None:
    """A test that finds no imports proves nothing unless it can see them."""
    source = """
import orders.services.order_changes
import django.db as database
from orders import wiring
from orders.engine import alerts, state_store
from orders.engine.state_store import claim
from orders.models import Order, OrderProcess
def later():
    from orders.engine.channels import replies
if TYPE_CHECKING:
    from orders.shop.agents.mail import Mail as Post
"""
    assert [imported.target for imported in read_imports("made_up", ast.parse(source))] == [
        "orders.services.order_changes",
        "django.db",
        "orders.wiring",
        "orders.engine.alerts",
        "orders.engine.state_store",
        "orders.engine.state_store.claims",
        "orders.models.order",
        "orders.models.state",
        "orders.engine.channels.replies",
        "orders.shop.agents.mail",
    ]
    assert {"orders.engine.supervisor.role", "orders.engine.state_store.claims"} < reach("orders.wiring")
