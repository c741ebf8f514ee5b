"""The URLs of the operator console."""

from django.urls import path

from orders.console import (
    agent_views,
    alert_views,
    audit_views,
    bulk_views,
    chaos_views,
    erasure_views,
    order_act_views,
    order_edit_views,
    order_views,
    outbox_views,
    second_factor_views,
    step_edit_views,
    system_views,
    token_views,
)

app_name = "console"

AGENT = "agents/<slug:agent>"
ORDER = "orders/<uuid:order_id>"
STEP = f"{ORDER}/steps/<str:step>"
GROUP = "alerts/<int:group_id>"

urlpatterns = [
    path("", system_views.show_overview, name="overview"),
    path("supervisor/", system_views.show_supervisor, name="supervisor"),
    path("workflow/", system_views.show_workflow, name="workflow"),
    path("outbox/", outbox_views.show_outbox, name="outbox"),
    path("outbox/<int:message_id>/retry/", outbox_views.retry_message, name="outbox-retry"),
    path("agents/", agent_views.show_agents, name="agents"),
    path(f"{AGENT}/pause/", agent_views.pause, name="pause-agent"),
    path(f"{AGENT}/resume/", agent_views.resume, name="resume-agent"),
    path(f"{AGENT}/force/", agent_views.force_circuit, name="force-circuit"),
    path(f"{AGENT}/unforce/", agent_views.unforce_circuit, name="unforce-circuit"),
    path("orders/", order_views.show_orders, name="orders"),
    path("orders.csv", order_views.export_orders, name="orders-csv"),
    path(f"{ORDER}/", order_views.show_order, name="order"),
    path(f"{ORDER}/resubmit/", order_act_views.resubmit, name="order-resubmit"),
    path(f"{ORDER}/retry/", order_act_views.retry, name="order-retry"),
    path(f"{ORDER}/priority/", order_act_views.set_priority, name="order-priority"),
    path(f"{ORDER}/compensate/", order_act_views.compensate, name="order-compensate"),
    path(f"{ORDER}/edit/", order_edit_views.edit, name="order-edit"),
    path(f"{ORDER}/erase/", erasure_views.erase, name="order-erase"),
    path("decisions/", order_views.show_decisions, name="decisions"),
    path(f"{STEP}/decide/", order_act_views.decide, name="step-decide"),
    path(f"{STEP}/decide/confirm/", order_act_views.decide_confirmed, name="step-decide-confirmed"),
    path(f"{STEP}/skip/", order_act_views.skip, name="step-skip"),
    path(f"{STEP}/settle/", order_act_views.settle, name="step-settle"),
    path(f"{STEP}/edit/", step_edit_views.edit, name="step-edit"),
    path("compensation/", order_views.show_compensation, name="compensation"),
    path("set-aside/", order_views.show_set_aside, name="set-aside"),
    path("set-aside/<int:number>/replay/", order_act_views.replay, name="set-aside-replay"),
    path("alerts/", alert_views.show_inbox, name="alerts"),
    path("alerts.csv", alert_views.export_alerts, name="alerts-csv"),
    path(f"{GROUP}/", alert_views.show_group, name="group"),
    path(f"{GROUP}/note/", alert_views.add_note, name="group-note"),
    path(f"{GROUP}/acknowledge/", alert_views.acknowledge, name="group-acknowledge"),
    path(f"{GROUP}/reopen/", alert_views.unacknowledge, name="group-unacknowledge"),
    path("bulk/", bulk_views.show_actions, name="bulk-actions"),
    path("bulk/new/", bulk_views.preview, name="bulk-new"),
    path("bulk/create/", bulk_views.create, name="bulk-create"),
    path("bulk/<int:action_id>/", bulk_views.show_action, name="bulk"),
    path("bulk/<int:action_id>/<slug:act>/", bulk_views.change, name="bulk-act"),
    path("audit/", audit_views.show_audit, name="audit"),
    path("audit.csv", audit_views.export_audit, name="audit-csv"),
    path("sign-in/", second_factor_views.SignIn.as_view(), name="sign-in"),
    path("second-factor/", second_factor_views.second_factor_page, name="second-factor"),
    path("second-factor/qr.svg", second_factor_views.show_qr, name="second-factor-qr"),
    path("second-factor/set-up/", second_factor_views.set_up, name="second-factor-set-up"),
    path("second-factor/codes/", second_factor_views.renew_codes, name="second-factor-codes"),
    path("second-factor/remove/", second_factor_views.remove, name="second-factor-remove"),
    path("tokens/", token_views.show_tokens, name="tokens"),
    path("tokens/<int:token_id>/pin/", token_views.pin, name="token-pin"),
    path("tokens/<int:token_id>/revoke/", token_views.revoke, name="token-revoke"),
    path("chaos/", chaos_views.show, name="chaos"),
    path("chaos/faults/<slug:service>/", chaos_views.set_faults, name="chaos-faults"),
    path("chaos/clear/", chaos_views.clear, name="chaos-clear"),
    path("chaos/kill/<slug:role>/", chaos_views.kill, name="chaos-kill"),
]
