"""Addresses of the console: how the system is."""

from django.urls import URLPattern, path

from orders.console import system_views as views

urlpatterns: list[URLPattern] = [
    path("", views.show_overview, name="overview"),
    path("supervisor/", views.show_supervisor, name="supervisor"),
]
