"""The laboratory as a Django application."""

from django.apps import AppConfig


class LabConfig(AppConfig):
    name = "examples.lab"
    label = "lab"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Laboratory"
