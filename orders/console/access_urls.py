"""Addresses of the console: access."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
