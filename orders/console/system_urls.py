"""Addresses of the console: system."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
