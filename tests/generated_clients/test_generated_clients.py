"""Clients that generators make from the document place orders, follow, pay and cancel them, and read response queues.

Nothing that is generated is changed or kept. Each client is used by a program in this folder, in the types of its own.
"""

import pytest

from tests.generated_clients.conftest import DOCUMENT, HOME, Workshop

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.pattern("C4")]

OF_ANY_DOCUMENT = (
    "OpenAPI 3.1 support is still in beta",
    "Failed to get the schema name: null",
    "Codegen property is null (e.g. map/dict of undefined type)",
)
"""What openapi-generator warns of whenever a document is of this version, has an object with a property, or has a map
of anything in one of several forms of a body."""

USED_BY_WEBHOOKS = [f"\t- Unused model: {name}" for name in ("AlertNotice", "ApprovalNotice", "OrderMessage")]
"""The validator does not look at webhooks."""


def test_the_client_of_openapi_python_client_places_follows_pays_and_cancels(workshop: Workshop) -> None:
    generate = ("openapi-python-client", "generate", "--meta", "none", "--output-path", "orders_client")
    workshop.run(*generate, "--path", DOCUMENT, "--fail-on-warning")
    workshop.bring("of_python_client.py")
    workshop.check_types("of_python_client.py")
    workshop.play("python", "of_python_client.py")


def test_the_client_of_openapi_typescript_places_follows_pays_and_cancels(workshop: Workshop) -> None:
    (workshop.folder / "node_modules").symlink_to(HOME / "node_modules")
    workshop.run("openapi-typescript", DOCUMENT, "--output", "orders.d.ts")
    for name in ("of_typescript.ts", "tsconfig.json", "package.json"):
        workshop.bring(name)
    workshop.run("tsc")
    workshop.play("node", "of_typescript.ts")


def test_the_client_of_openapi_generator_places_follows_pays_and_cancels(workshop: Workshop) -> None:
    advice = workshop.run("openapi-generator-cli", "validate", "--recommend", "-i", DOCUMENT)
    assert sorted(line for line in advice.splitlines() if line.startswith("\t- ")) == USED_BY_WEBHOOKS
    generate = ("openapi-generator-cli", "generate", "-g", "python", "--package-name", "orders_client")
    output = workshop.run(*generate, "-i", DOCUMENT, "-o", ".")
    warnings = [line for line in output.splitlines() if " WARN " in line or " ERROR " in line]
    assert [line for line in warnings if not any(text in line for text in OF_ANY_DOCUMENT)] == []
    workshop.bring("of_generator.py")
    workshop.check_types("of_generator.py")
    workshop.play("python", "of_generator.py")
