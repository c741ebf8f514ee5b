"""A program can do in the REST API what a person can do in the console, with the same rights."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from django.urls import resolve
from drf_spectacular.generators import SchemaGenerator

from orders.access.levels import ADMINISTER, OPERATE
from orders.api.operator_order_queries import OrderFilterQuery
from orders.console import urls
from orders.selectors.desk.filters import NAMES
from orders.vocabulary import TokenScope
from tests.web.test_console_access import TABLE

PARITY: Mapping[str, tuple[str, ...]] = {
    "orders": ("search_orders",),
    "find": ("search_orders", "list_agents", "list_alert_groups"),
    "order": ("get_order", "list_order_events", "get_order_details"),
    "order-resubmit": ("resubmit_order",),
    "order-rehearsal": ("rehearse_resubmission",),
    "order-retry": ("retry_order",),
    "order-priority": ("set_order_priority",),
    "order-pause": ("pause_order",),
    "order-resume": ("resume_order",),
    "order-compensate": ("compensate_order",),
    "order-edit": ("preview_order_edit", "edit_order"),
    "order-note": ("add_order_note",),
    "order-erase": ("erase_customer",),
    "decisions": ("list_decisions",),
    "step-decide": ("decide",),
    "step-decide-confirmed": ("decide",),
    "step-skip": ("skip_step",),
    "step-settle": ("settle_step",),
    "step-settle-ask": ("ask_for_approval",),
    "order-erase-ask": ("ask_for_approval",),
    "force-circuit-ask": ("ask_for_approval",),
    "unforce-circuit-ask": ("ask_for_approval",),
    "intake-pause-ask": ("ask_for_approval",),
    "approvals": ("list_approvals", "get_approval"),
    "approval-approve": ("approve",),
    "approval-decline": ("decline",),
    "approval-withdraw": ("withdraw",),
    "step-edit": ("edit_step",),
    "compensation": ("list_compensations",),
    "views": ("list_views",),
    "view-save": ("create_view",),
    "view": ("change_view",),
    "view-delete": ("delete_view",),
    "set-aside": ("list_set_aside",),
    "set-aside-replay": ("replay_submission",),
    "alerts": ("list_alert_groups", "list_alerts", "list_cause_figures"),
    "group": ("get_alert_group", "list_closed_alerts"),
    "group-note": ("add_alert_group_note",),
    "group-acknowledge": ("acknowledge_alert_group",),
    "group-unacknowledge": ("reopen_alert_group",),
    "group-take": ("take_alert_group",),
    "group-assign": ("assign_alert_group",),
    "group-snooze": ("snooze_alert_group",),
    "group-wake": ("wake_alert_group",),
    "group-ticket": ("link_alert_group_ticket",),
    "group-runbook": ("write_runbook",),
    "group-times": ("list_open_times_of_group",),
    "cause-history": ("list_open_times",),
    "handover": ("get_handover",),
    "handover-text": ("get_handover",),  # its `text`
    "handover-note": ("add_handover_note",),
    "handover-send": ("send_handover",),
    "bulk": ("get_bulk_action", "list_bulk_action_orders"),
    "bulk-actions": ("list_bulk_actions",),
    "bulk-new": ("preview_bulk_action",),
    "bulk-create": ("create_bulk_action",),
    "bulk-edit": ("preview_bulk_action",),
    "bulk-edit-create": ("create_bulk_action",),
    "bulk-act": ("pause_bulk_action", "resume_bulk_action", "stop_bulk_action", "undo_bulk_action"),
    "overview": ("get_status", "get_order_figures", "list_incidents"),
    "supervisor": ("get_supervisor",),
    "processes": ("list_processes",),
    "workflow": ("list_workflows", "list_step_figures"),
    "outbox": ("list_outbox",),
    "outbox-retry": ("retry_outgoing_message",),
    "audit": ("list_audit_entries",),
    "agents": ("list_agents", "list_agent_figures"),
    "pauses": ("get_pauses",),
    "intake-pause": ("pause_intake",),
    "intake-resume": ("resume_intake",),
    "step-pause": ("pause_step",),
    "step-resume": ("resume_step",),
    "deadlines": ("get_deadlines",),
    "force-circuit": ("force_circuit",),
    "unforce-circuit": ("unforce_circuit",),
    "pause-agent": ("pause_agent",),
    "limit-agent": ("limit_agent",),
    "resume-agent": ("resume_agent",),
}
"""The operations that do what each of the console's URLs does."""
OWN = {
    *("orders-csv", "alerts-csv", "audit-csv"),  # the same as the lists, for spreadsheets
    "query-words",  # what an input completes; the lists have all of it
    *("sign-in", "second-factor", "second-factor-qr", "second-factor-set-up", "second-factor-codes"),
    *("second-factor-remove", "tokens", "token-pin", "token-revoke"),  # of a person: no token makes another
    *("order-presence", "group-presence"),  # of people who look at a page
    *("chaos", "chaos-faults", "chaos-clear", "chaos-kill", "chaos-drill"),  # of the sandbox
}
"""What is only the console's."""
PERMISSIONS = {"operator": OPERATE, "admin": ADMINISTER}
BY_CHOICE = {"step-decide-confirmed"}
"""Whether the second factor is needed depends on what is sent; `tests/web/test_decisions.py` has both."""


@pytest.fixture(scope="module")
def views() -> Mapping[str, Any]:
    """The view of each operation that changes something, and None for the others, by the operation's id."""
    generator: Any = SchemaGenerator()
    paths = json.loads(json.dumps(generator.get_schema(public=True), default=str))["paths"]
    return {
        operation["operationId"]: _view(path) if method == "post" else None
        for path, operations in paths.items()
        for method, operation in operations.items()
    }


def _view(path: str) -> Any:
    number = {
        "order_id": "0" * 8 + "-0000" * 3 + "-" + "0" * 12,
        "webhook_id": "0" * 8 + "-0000" * 3 + "-" + "0" * 12,
    }
    return resolve(re.sub(r"\{(\w+)\}", lambda name: number.get(name[1], "1"), path)).func.cls  # type: ignore[attr-defined]


def test_whatever_the_console_does_an_operation_does(views: Mapping[str, Any]) -> None:
    names = {str(pattern.name) for pattern in urls.urlpatterns}
    assert names == PARITY.keys() | OWN
    assert not PARITY.keys() & OWN
    missing = {operation for operations in PARITY.values() for operation in operations} - views.keys()
    assert missing == set()


def test_an_act_of_the_console_is_one_of_the_api(views: Mapping[str, Any]) -> None:
    acts = [name for name in PARITY if TABLE[name][1]]
    assert len(acts) > 10
    assert [name for name in acts if not all(views[operation] for operation in PARITY[name])] == []


def test_an_account_needs_the_same_level_for_an_act_in_both(views: Mapping[str, Any]) -> None:
    for name, operations in PARITY.items():
        if level := TABLE[name][1]:
            needed = {views[operation].permission for operation in operations}
            assert needed == {PERMISSIONS[level]}, name


def test_what_asks_for_the_second_factor_in_the_console_needs_the_scope_that_asks_for_it(
    views: Mapping[str, Any],
) -> None:
    confirmed = {
        str(pattern.name) for pattern in urls.urlpatterns if getattr(pattern.callback, "is_confirmed", False)
    }
    assert {"order-compensate", "order-erase", "step-settle", *BY_CHOICE} <= confirmed
    for name in PARITY.keys() & confirmed - BY_CHOICE:
        assert {views[operation].scope for operation in PARITY[name]} == {TokenScope.COMPENSATE}, name


def test_the_list_of_orders_has_the_filters_of_the_consoles_list() -> None:
    assert set(OrderFilterQuery().fields) == {*NAMES, "standing"} - {"kind"}
