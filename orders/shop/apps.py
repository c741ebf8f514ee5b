"""The print shop: the business that ships with the project, and an example of one."""

from django.apps import AppConfig


class ShopConfig(AppConfig):
    name = "orders.shop"
    label = "shop"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Print shop"
