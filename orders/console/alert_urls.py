"""Addresses of the console: alert."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
