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
    **dict.fromkeys(("shop:cart-change", "shop:cart-remove"), "storefront/unchanged_cart.html"),
    **dict.fromkeys(
        ("shop:cart-add", "shop:order-again", "shop:guest-order-again"), "storefront/not_in_cart.html"
    ),
    **dict.fromkeys(("shop:order-pay", "shop:guest-order-pay"), "storefront/unpaid.html"),
    "shop:find-order": "errors/repeat.html",
    "account:sign-in": "account/not_signed_in.html",
    "account:sign-out": "account/not_signed_out.html",
    **dict.fromkeys(
        (
            "account:sign-up",
            "account:forgotten",
            "account:new-address",
            "account:address",
            "account:delete-address",
        ),
        "errors/repeat.html",
    ),
}
LIMITED_SEARCHES = ("api:products",)
API_TAGS = ({"name": "products", "description": "What can be ordered. Needs no token."},)
