"""What the project's settings take from the shop."""

CONTEXT_PROCESSORS = ("orders.shop.storefront.cart.for_templates",)
LOGIN_URL = "account:sign-in"
LOGIN_REDIRECT_URL = "account:overview"
REQUIRED_VARIABLES = ("WAREHOUSE_URL", "PAYMENTS_URL", "CARRIER_URL")
"""What must be set where no sandbox stands in for the services."""
