"""The print shop: the business that ships with the project, and an example of one."""

import sys
from importlib import import_module

from django.apps import AppConfig

from orders.shop.owner import present_owner
from orders.shop.served import present_not_served
from sasweb.environment import ConfigError


class ShopConfig(AppConfig):
    name = "orders.shop"
    label = "shop"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Print shop"

    def ready(self) -> None:
        """Registers the checks of `manage.py check --deploy`, and stops the start with one line if the environment says
        something of the owner, or of the countries that are not served, that cannot be."""
        import_module("orders.shop.checks")
        try:
            present_owner()
            present_not_served()
        except ConfigError as error:
            sys.exit(f"sasweb: {error}")
