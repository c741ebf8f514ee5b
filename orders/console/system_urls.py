"""Addresses of the console: how the system is."""

from django.urls import URLPattern, path

from orders.console import outbox_views
from orders.console import system_views as views

urlpatterns: list[URLPattern] = [
    path("", views.show_overview, name="overview"),
    path("agents/", views.show_agents, name="agents"),
    path("agents/<slug:agent>/pause/", views.pause_agent, name="pause-agent"),
    path("agents/<slug:agent>/resume/", views.resume_agent, name="resume-agent"),
    path("agents/<slug:agent>/force/", views.force_circuit, name="force-circuit"),
    path("agents/<slug:agent>/unforce/", views.unforce_circuit, name="unforce-circuit"),
    path("supervisor/", views.show_supervisor, name="supervisor"),
    path("workflow/", views.show_workflow, name="workflow"),
    path("outbox/", outbox_views.show_outbox, name="outbox"),
    path("outbox/<int:message_id>/retry/", outbox_views.retry_message, name="outbox-retry"),
]
