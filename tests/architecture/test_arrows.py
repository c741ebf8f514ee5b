"""Who may import whom (docs/architecture.md): the engine knows no business, and roles know nothing of one another."""

import ast

import pytest

from tests.architecture.source import (
    ENGINE_MODELS,
    ROLES,
    imports,
    is_within,
    modules,
    never,
    offences,
    only,
    tree,
    within,
)

FACES = ("orders.api", "orders.console", "orders.live", "orders.order_page")
BUSINESS = ("orders.shop", "orders.agents")
PUBLIC = (
    *("orders.business", "orders.agents", "orders.fields", "orders.vocabulary", "orders.wording"),
    *("orders.engine.contracts", "orders.engine.errors", "orders.engine.waits", "orders.engine.runtime.sql"),
    *("orders.emails", "orders.engine.rehearsals"),
    *("orders.services.accounts", "orders.services.act_results", "orders.services.customers"),
    *("orders.services.order_lock", "orders.services.placing", "orders.services.signalling"),
    *("orders.services.answers", "orders.selectors.accounts", "orders.selectors.order_lists"),
    *("orders.selectors.customer_order", "orders.selectors.orders", "orders.selectors.paging"),
    *(
        "orders.selectors.step_answers",
        "orders.selectors.tracked_orders",
        "orders.access",
        "orders.admin",
        "orders.models.customer",
    ),
    *(
        "orders.api.changes",
        "orders.api.fields",
        "orders.api.paging",
        "orders.api.problems",
        "orders.api.representations",
    ),
    *("orders.order_page", "sasweb.environment"),
)
"""What a business may import of this project (docs/your-business.md)."""
BUSINESSES = ("orders.shop", "examples.lab")
KIT = "orders.testing"
"""What the tests of a business may import as well."""
BELOW_FACES = (
    "orders.engine.errors",
    "orders.services",
    "orders.selectors",
    "orders.wording",
    "orders.fields",
    "orders.access",
    "orders.vocabulary",
)
ROOMS = {
    "orders.vocabulary": (),
    "orders.emails": (),
    "orders.fields": (),
    "orders.tracing": (),
    "orders.models": ("orders.vocabulary", "sasweb.sealing"),
    "orders.engine": ("orders.vocabulary", "orders.tracing", *ENGINE_MODELS),
    "orders.business": (
        *("orders.engine.branches", "orders.engine.contracts", "orders.engine.errors", "orders.engine.waits"),
        *("orders.engine.intakes", "orders.engine.moving", "orders.engine.parking"),
        "orders.engine.reversing",
        *(
            "orders.engine.channels.many_submissions",
            "orders.engine.channels.submission_records",
            "orders.engine.channels.submissions",
            "orders.engine.runtime",
        ),
        *("orders.fields", "orders.models.order", "orders.models.pauses", "orders.vocabulary"),
        *("orders.tracing", "sasweb.environment", "sasweb.traceparents"),
    ),
    "orders.agents": (
        *("orders.engine.contracts", "orders.engine.errors", "orders.engine.rehearsals"),
        *("orders.engine.exchanges", "orders.tracing"),
    ),
    "orders.testing": (
        *("orders.engine.contracts", "orders.engine.errors", "orders.engine.runtime", "orders.models"),
        *(
            "orders.engine.callbacks",
            "orders.engine.rehearsals",
            "orders.engine.results",
            "orders.engine.rows",
        ),
        *(
            "orders.business.registry",
            "orders.services.answers",
            "orders.services.order_changes",
            "orders.vocabulary",
            "orders.wiring",
            "sasweb.database",
        ),
    ),
    "orders.selectors": (
        *("orders.models", "orders.vocabulary", "orders.fields"),
        *("orders.engine.runtime.sql", "orders.engine.rows", "orders.engine.circuits.rules"),
        *("orders.engine.retry_rules", "orders.engine.state_store.feed"),
        "orders.engine.channels.status_leases",
        *("orders.business", "orders.engine.branches", "orders.engine.contracts", "orders.engine.intakes"),
    ),
    "orders.wording": (
        "orders.vocabulary",
        "orders.emails",
        "orders.engine.branches",
        "orders.fields",
        "orders.selectors",
        "orders.business",
    ),
    "orders.services": (
        *("orders.selectors", "orders.models", "orders.vocabulary", "orders.fields"),
        *(f"orders.engine.{name}" for name in ("channels", "state_store", "circuits", "alerts", "runtime")),
        *("orders.engine.branches", "orders.engine.errors", "orders.engine.rows", "orders.engine.callbacks"),
        *("orders.engine.moving", "orders.engine.results", "orders.engine.contracts"),
        *("orders.engine.next_calls", "orders.engine.rehearsals"),
        *("orders.outbox", "orders.access", "orders.business"),
        *(
            "orders.wording.cancelling",
            "orders.wording.order_edits",
            "orders.wording.pauses",
            "orders.wording.units",
        ),
        *("orders.webhooks", "sasweb.webhook_signatures"),
    ),
    "orders.outbox": (
        *(
            "sasweb.mail_server",
            "sasweb.webhooks",
            "sasweb.webhook_signatures",
            "orders.access",
            "orders.wording",
            "orders.selectors",
        ),
        *("orders.business", "orders.emails", "orders.models", "orders.vocabulary", "orders.fields"),
        *("orders.engine.runtime", "orders.engine.state_store", "orders.engine.rows"),
    ),
    "orders.webhooks": (
        *("sasweb.mail_server", "sasweb.public_hosts", "sasweb.sealing", "sasweb.webhooks"),
        *("sasweb.webhook_signatures", "orders.models", "orders.vocabulary", "orders.engine.runtime"),
        *("orders.selectors.changes", "orders.outbox"),
    ),
    "orders.reconciliation": (
        *("orders.engine.contracts", "orders.engine.errors", "orders.engine.rows"),
        *("orders.engine.runtime.backoff", "orders.selectors.desk.reconciliation", "orders.vocabulary"),
    ),
    "orders.access": (
        "orders.models",
        "orders.fields",
        "orders.vocabulary",
        "orders.engine.runtime.sql",
        *("sasweb.limits", "sasweb.problems", "sasweb.refusals", "sasweb.sealing"),
    ),
    "orders.api": (
        *(*BELOW_FACES, "orders.business"),
        *("sasweb.bodies", "sasweb.holding", "sasweb.problems", "sasweb.request_ids"),
        "sasweb.traceparents",
    ),
    "orders.console": (*BELOW_FACES, "orders.business", "sasweb.launcher"),
    "orders.order_page": (*BELOW_FACES, "orders.business"),
    "orders.live": (
        *(*BELOW_FACES, "orders.engine.channels.wakeups", "orders.engine.runtime.listener"),
        *("sasweb.database_circuit", "sasweb.holding"),
    ),
    "orders.watchdog": (
        *("orders.engine.role_health", "orders.engine.runtime", "orders.services.operators.notifications"),
        *("orders.selectors", "orders.wording"),
        *("orders.outbox", "orders.vocabulary", "sasweb.environment"),
        *("sasweb.mail_server", "sasweb.readiness", "sasweb.shutdown"),
    ),
    "orders.metrics": (
        "orders.models",
        "orders.selectors",
        "orders.vocabulary",
        "orders.engine.runtime.text",
    ),
    "orders.templatetags": BELOW_FACES,
    "orders.demo": (
        "orders.models",
        "orders.access",
        "orders.business",
        "orders.fields",
        "orders.vocabulary",
    ),
    "orders.management": (
        *BELOW_FACES,
        *(
            "orders.business",
            "orders.wiring",
            "orders.demo",
            "orders.jobs",
            "orders.engine.runtime",
            "orders.models",
            "sasweb",
        ),
        "orders.watchdog",
        "orders.reconciliation",
        "orders.engine.channels.wakeups",
        *("orders.api.breaking_changes", "orders.api.released_document"),
    ),
}
"""What each package ("room") may import besides itself. The rooms missing here are `wiring`, `jobs` and Django's."""
STILL_OPEN = {}
"""Modules whose imports do not follow the plan yet."""


@pytest.mark.pattern("C4")
@pytest.mark.parametrize("business", BUSINESSES)
def test_a_business_imports_only_what_is_public(business: str) -> None:
    """The shop has no private door: another business could be written in the same way."""
    tests = within(f"{business}.tests")
    product = [module for module in within(business) if module not in tests]
    assert offences(product, is_wrong=only(business, *PUBLIC)) == []
    assert offences(tests, is_wrong=only(business, *PUBLIC, KIT)) == []


@pytest.mark.pattern("C4")
def test_nothing_of_the_project_knows_a_business_by_name() -> None:
    others = [module for module in within("orders", "sasweb") if not is_within(module, *BUSINESSES)]
    assert offences(others, is_wrong=never(*BUSINESSES)) == []


@pytest.mark.pattern("C4")
def test_a_workflow_is_declared_with_the_contracts_and_pure_checks_alone() -> None:
    declared = ["orders.shop.fulfilment", "orders.shop.description", "orders.shop.time_limits"]
    pure = tuple(f"orders.fields.{name}" for name in ("address_rules", "country_codes", "postal_address"))
    allowed = only("orders.shop", "orders.business", "orders.engine.contracts", "sasweb.environment", *pure)
    assert offences(pure, is_wrong=never("django")) == []
    assert offences(declared, is_wrong=allowed) == offences(declared, is_wrong=never("django")) == []


@pytest.mark.pattern("S1", "Q1")
def test_the_web_asks_services_and_selectors_and_knows_no_role_and_no_channel() -> None:
    behind = (
        "orders.engine",
        "orders.agents",
        "orders.wiring",
        "orders.jobs",
        "orders.management",
        "sandbox",
    )
    faces = within("orders.api", "orders.shop.storefront", "orders.console", "orders.order_page")
    errors = "orders.engine.errors"
    assert offences(faces, is_wrong=never(*behind), unless=lambda imported: imported.target == errors) == []


def test_services_know_neither_roles_nor_business_nor_web() -> None:
    behind = (*ROLES, *BUSINESS, *FACES, "orders.wiring", "orders.jobs", "orders.management", "sandbox")
    operators = ("alerts", "agents", "bulk", "bulk_control", "bulk_runner", "notifications")
    acts = [
        "orders.services.order_changes",
        "orders.services.placing",
        *(f"orders.services.operators.{name}" for name in operators),
    ]
    assert (
        offences(
            [*acts, "orders.services.operators.bulk_runner", "orders.services.operators.notifications"],
            is_wrong=never(*behind),
        )
        == []
    )


def test_operators_services_know_of_the_business_only_what_may_be_edited() -> None:
    behind = (*ROLES, *BUSINESS, *FACES, "orders.wiring", "orders.jobs", "orders.management", "sandbox")
    acts = within("orders.services.operators")
    assert len(acts) >= 4
    editing = "orders.business.editing"
    assert offences(acts, is_wrong=never(*behind), unless=lambda imported: imported.target == editing) == []


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_imports_only_what_it_may(room: str) -> None:
    wrong_imports = offences(within(room), is_wrong=only(room, *ROOMS[room]))
    assert [line for line in wrong_imports if line.split()[0].partition(":")[0] not in STILL_OPEN] == []


@pytest.mark.pattern("C4")
def test_only_the_wiring_gives_the_roles_their_workflows_and_agents() -> None:
    joins = [
        module
        for module in modules()
        if any(is_within(imported.target, *ROLES) for imported in imports(module))
        and any(is_within(imported.target, "orders.business") for imported in imports(module))
    ]
    assert joins == ["orders.wiring"]


def test_commands_and_jobs_create_no_role_and_no_agent_themselves() -> None:
    """They get them from the wiring; the names of the classes are for annotations."""
    outside = [*within("orders.management"), "orders.jobs"]
    assert offences(outside, is_wrong=never("orders.agents")) == []
    for module in outside:
        names = {imported.name for imported in imports(module) if is_within(imported.target, *ROLES)}
        calls = [node.func for node in ast.walk(tree(module)) if isinstance(node, ast.Call)]
        assert [call.id for call in calls if isinstance(call, ast.Name) and call.id in names] == [], module


def test_the_project_package_knows_nothing_of_the_pattern() -> None:
    behind = ("orders.engine", *BUSINESS, "orders.wiring", "sandbox")
    assert offences(within("sasweb"), is_wrong=never(*behind)) == []


def test_the_sandbox_is_no_part_of_the_product() -> None:
    assert offences(within("sandbox"), is_wrong=never("orders", "sasweb")) == []
    assert offences(within("orders", "sasweb"), is_wrong=never("sandbox")) == []


def test_the_kit_for_tests_is_no_part_of_the_product() -> None:
    """It needs pytest, which an installation need not have."""
    tests = [KIT, *(f"{business}.tests" for business in BUSINESSES)]
    product = [module for module in modules() if not is_within(module, *tests)]
    assert len(product) < len(modules())
    assert offences(product, is_wrong=never(KIT, "pytest", "_pytest")) == []
