"""The operators' URLs under /api/v1/."""

from django.urls import path

from orders.api import operator_alert_views as alert_views
from orders.api import operator_approval_views as approval_views
from orders.api import operator_bulk_views as bulk_views
from orders.api import operator_cause_views as cause_views
from orders.api import operator_figure_views as figure_views
from orders.api import operator_handover_views as handover_views
from orders.api import operator_order_edit_views as order_edit_views
from orders.api import operator_order_lists as order_lists
from orders.api import operator_order_views as order_views
from orders.api import operator_pause_views as pause_views
from orders.api import operator_process_views as process_views
from orders.api import operator_rehearsal_views as rehearsal_views
from orders.api import operator_saved_view_views as saved_view_views
from orders.api import operator_system_views as system_views
from orders.api import operator_views as views

APPROVAL = "approvals/<int:request_id>"
ACTION = "bulk-actions/<int:action_id>"
GROUP = "alerts/groups/<int:group_id>"
ORDER = "orders/<uuid:order_id>"
STEP = f"{ORDER}/steps/<str:step>"
WORKFLOW_STEP = "workflows/<str:workflow>/steps/<str:step>"

urlpatterns = [
    path("alerts", views.Alerts.as_view(), name="alerts"),
    path("alerts/groups", views.AlertGroups.as_view(), name="alert-groups"),
    path("alerts/groups/<int:group_id>/resubmit", views.GroupResubmission.as_view(), name="group-resubmit"),
    path("approvals", approval_views.Approvals.as_view(), name="approvals"),
    path(APPROVAL, approval_views.ApprovalDetail.as_view(), name="approval"),
    path(f"{APPROVAL}/approve", approval_views.ApprovalApproval.as_view(), name="approval-approve"),
    path(f"{APPROVAL}/decline", approval_views.ApprovalRefusal.as_view(), name="approval-decline"),
    path(f"{APPROVAL}/withdraw", approval_views.ApprovalWithdrawal.as_view(), name="approval-withdraw"),
    path("bulk-actions", bulk_views.BulkActions.as_view(), name="bulk-actions"),
    path("bulk-actions/preview", bulk_views.BulkActionPreview.as_view(), name="bulk-action-preview"),
    path("bulk-actions/<int:action_id>", views.BulkActionDetail.as_view(), name="bulk-action"),
    path(f"{ACTION}/orders", bulk_views.BulkActionOrders.as_view(), name="bulk-action-orders"),
    path(f"{ACTION}/pause", bulk_views.BulkActionPause.as_view(), name="bulk-action-pause"),
    path(f"{ACTION}/resume", bulk_views.BulkActionResume.as_view(), name="bulk-action-resume"),
    path(f"{ACTION}/stop", bulk_views.BulkActionStop.as_view(), name="bulk-action-stop"),
    path(f"{ACTION}/undo", bulk_views.BulkActionUndo.as_view(), name="bulk-action-undo"),
    path("steps/<int:step_id>/resubmit", views.StepResubmission.as_view(), name="step-resubmit"),
    path("steps/<int:step_id>/skip", views.StepSkip.as_view(), name="step-skip"),
    path("orders/<uuid:order_id>/compensate", views.OrderCompensation.as_view(), name="order-compensate"),
    path("decisions", views.Decisions.as_view(), name="decisions"),
    path(f"{STEP}/decision", views.StepDecision.as_view(), name="step-decision"),
    path(f"{STEP}/event", views.StepEvent.as_view(), name="step-event"),
    path("agents/<slug:name>/pause", views.AgentPause.as_view(), name="agent-pause"),
    path("agents/<slug:name>/resume", views.AgentResume.as_view(), name="agent-resume"),
    path("orders/search", order_lists.OrderSearch.as_view(), name="order-search"),
    path("compensations", order_lists.Compensations.as_view(), name="compensations"),
    path("set-aside", order_lists.SetAsides.as_view(), name="set-aside"),
    path(f"{ORDER}/details", order_lists.OrderDetails.as_view(), name="order-details"),
    path(f"{ORDER}/resubmit", order_views.OrderResubmission.as_view(), name="order-resubmit"),
    path(f"{ORDER}/rehearsal", rehearsal_views.OrderRehearsal.as_view(), name="order-rehearsal"),
    path(f"{ORDER}/retry", order_views.OrderRetry.as_view(), name="order-retry"),
    path(f"{ORDER}/priority", order_views.OrderPriority.as_view(), name="order-priority"),
    path(f"{ORDER}/pause", order_views.OrderPause.as_view(), name="order-pause"),
    path(f"{ORDER}/resume", order_views.OrderResume.as_view(), name="order-resume"),
    path(f"{ORDER}/edit", order_edit_views.OrderEdit.as_view(), name="order-edit"),
    path(f"{ORDER}/edit/preview", order_edit_views.OrderEditPreview.as_view(), name="order-edit-preview"),
    path(f"{ORDER}/notes", order_views.OrderNotes.as_view(), name="order-note"),
    path(f"{ORDER}/erase", order_views.OrderErasure.as_view(), name="order-erase"),
    path(f"{STEP}/edit", order_views.StepEdit.as_view(), name="step-edit"),
    path(f"{STEP}/settle", order_views.StepSettlement.as_view(), name="step-settle"),
    path("set-aside/<int:number>/replay", order_views.SubmissionReplay.as_view(), name="set-aside-replay"),
    path(GROUP, alert_views.AlertGroupDetail.as_view(), name="alert-group"),
    path(f"{GROUP}/closed", alert_views.ClosedAlerts.as_view(), name="closed-alerts"),
    path(f"{GROUP}/acknowledge", alert_views.GroupAcknowledgement.as_view(), name="group-acknowledge"),
    path(f"{GROUP}/reopen", alert_views.GroupReopening.as_view(), name="group-unacknowledge"),
    path(f"{GROUP}/notes", alert_views.GroupNotes.as_view(), name="group-note"),
    path("agents/<slug:name>/limit", system_views.AgentLimit.as_view(), name="agent-limit"),
    path(f"{GROUP}/take", cause_views.GroupTaking.as_view(), name="group-take"),
    path(f"{GROUP}/assign", cause_views.GroupAssignment.as_view(), name="group-assign"),
    path(f"{GROUP}/snooze", cause_views.GroupSnooze.as_view(), name="group-snooze"),
    path(f"{GROUP}/wake", cause_views.GroupWaking.as_view(), name="group-wake"),
    path(f"{GROUP}/ticket", cause_views.GroupTicket.as_view(), name="group-ticket"),
    path(f"{GROUP}/runbook", cause_views.GroupRunbook.as_view(), name="group-runbook"),
    path(f"{GROUP}/history", cause_views.GroupTimes.as_view(), name="group-times"),
    path("alerts/history", cause_views.CauseHistory.as_view(), name="cause-history"),
    path("handover", handover_views.HandoverReport.as_view(), name="handover"),
    path("handover/notes", handover_views.HandoverNotes.as_view(), name="handover-note"),
    path("handover/send", handover_views.HandoverSending.as_view(), name="handover-send"),
    path("agents/<slug:name>/force", system_views.CircuitForce.as_view(), name="agent-force"),
    path("agents/<slug:name>/unforce", system_views.CircuitUnforce.as_view(), name="agent-unforce"),
    path("agents", system_views.Agents.as_view(), name="agents"),
    path("deadlines", system_views.Deadlines.as_view(), name="deadlines"),
    path("figures/orders", figure_views.OrderFigures.as_view(), name="order-figures"),
    path("figures/agents", figure_views.AgentFigures.as_view(), name="agent-figures"),
    path("figures/causes", figure_views.CauseFigures.as_view(), name="cause-figures"),
    path("figures/steps", figure_views.StepFigures.as_view(), name="step-figures"),
    path("incidents", system_views.Incidents.as_view(), name="incidents"),
    path("status", system_views.Status.as_view(), name="status"),
    path("supervisor", system_views.Supervisor.as_view(), name="supervisor"),
    path("processes", process_views.Processes.as_view(), name="processes"),
    path("workflows", system_views.Workflows.as_view(), name="workflows"),
    path("pauses", pause_views.Pauses.as_view(), name="pauses"),
    path("intake/pause", pause_views.IntakePause.as_view(), name="intake-pause"),
    path("intake/resume", pause_views.IntakeResume.as_view(), name="intake-resume"),
    path(f"{WORKFLOW_STEP}/pause", pause_views.StepPause.as_view(), name="step-pause"),
    path(f"{WORKFLOW_STEP}/resume", pause_views.StepResume.as_view(), name="step-resume"),
    path("outbox", system_views.Outbox.as_view(), name="outbox"),
    path("outbox/<int:message_id>/retry", system_views.OutgoingMessageRetry.as_view(), name="outbox-retry"),
    path("views", saved_view_views.SavedViews.as_view(), name="views"),
    path("views/<int:view_id>/change", saved_view_views.SavedViewChange.as_view(), name="view-change"),
    path("views/<int:view_id>/delete", saved_view_views.SavedViewDeletion.as_view(), name="view-delete"),
    path("audit", system_views.AuditLog.as_view(), name="audit"),
]
