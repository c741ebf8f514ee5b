"""The URLs of an order's page: with its number for an account, with a signed token for a guest."""

from django.urls import path

from orders.order_page import corrections, views

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
    path("o/<str:token>/renew/", views.renew_link, name="guest-renew"),
]
