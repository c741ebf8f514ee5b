"""Addresses of the console: alerts and bulk actions."""

from django.urls import URLPattern, path

from orders.console import alert_views, bulk_views

urlpatterns: list[URLPattern] = [
    path("alerts/", alert_views.inbox, name="alerts"),
    path("alerts.csv", alert_views.inbox_csv, name="alerts-csv"),
    path("alerts/<int:group_id>/", alert_views.group, name="group"),
    path("alerts/<int:group_id>/note/", alert_views.note, name="group-note"),
    path("alerts/<int:group_id>/acknowledge/", alert_views.acknowledge, name="group-acknowledge"),
    path("alerts/<int:group_id>/reopen/", alert_views.unacknowledge, name="group-unacknowledge"),
    path("bulk/", bulk_views.actions, name="bulk-actions"),
    path("bulk/new/", bulk_views.new, name="bulk-new"),
    path("bulk/create/", bulk_views.create, name="bulk-create"),
    path("bulk/<int:action_id>/", bulk_views.action, name="bulk"),
    path("bulk/<int:action_id>/<slug:act>/", bulk_views.change, name="bulk-act"),
]
