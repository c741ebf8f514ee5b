"""The URLs of an order's page: with its number for an account, with a signed token for a guest. And of what a form for
an address asks for in each country."""

from django.urls import path

from orders.order_page import address_rules, corrections, views

app_name = "order"

pages = [
    ("", views.show_order, "page"),
    ("progress/", views.show_progress, "progress"),
    ("seen/", views.show_nothing, "seen"),
    ("cancel/", views.cancel, "cancel"),
    ("correct/<str:name>/", corrections.correct, "correct"),
]
urlpatterns = [
    *(path(f"orders/<uuid:order_id>/{end}", view, name=name) for end, view, name in pages),
    *(path(f"o/<str:token>/{end}", view, name=f"guest-{name}") for end, view, name in pages),
    path("address-rules/", address_rules.show_rules, name="address-rules"),
    path("o/<str:token>/renew/", views.renew_link, name="guest-renew"),
]
