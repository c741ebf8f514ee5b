"""Addresses of the console: order."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
