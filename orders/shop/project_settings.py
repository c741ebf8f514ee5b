"""What the project's settings take from the shop."""

CONTEXT_PROCESSORS = ("orders.shop.storefront.cart.for_templates",)
LOGIN_URL = "account:sign-in"
LOGIN_REDIRECT_URL = "account:overview"
REQUIRED_VARIABLES = ("WAREHOUSE_URL", "PAYMENTS_URL", "CARRIER_URL")
"""What must be set where no sandbox stands in for the services."""

SIGN_IN = ("sign_in.address",)
EMAILS = ("emails.address", "emails.recipient")
LIMITED_POSTS = {
    "account:sign-in": SIGN_IN,
    "account:password": SIGN_IN,
    "account:reset": SIGN_IN,
    "account:finish": SIGN_IN,
    "account:sign-up": ("sign_up.address", *EMAILS),
    "account:forgotten": EMAILS,
    "shop:cart-add": ("cart.address",),
    "shop:checkout": ("orders.account", "checkout.address", "checkout.session", "checkout.recipient"),
}
REPEATED_POSTS = {
    "shop:checkout": "storefront/unconfirmed.html",
    "shop:cart-change": "storefront/unchanged_cart.html",
    "shop:cart-remove": "storefront/unchanged_cart.html",
}
LIMITED_SEARCHES = ("api:products",)
API_TAGS = ({"name": "products", "description": "What can be ordered. Needs no token."},)
