"""Addresses of the console: orders, one by one and in a list."""

from django.urls import URLPattern, path

from orders.console import order_act_views as acts
from orders.console import order_views as views

urlpatterns: list[URLPattern] = [
    path("orders/", views.show_orders, name="orders"),
    path("orders.csv", views.export_orders, name="orders-csv"),
    path("orders/<uuid:order_id>/", views.show_order, name="order"),
    path("orders/<uuid:order_id>/resubmit/", acts.resubmit, name="order-resubmit"),
    path("orders/<uuid:order_id>/retry/", acts.retry, name="order-retry"),
    path("orders/<uuid:order_id>/priority/", acts.set_priority, name="order-priority"),
    path("orders/<uuid:order_id>/compensate/", acts.compensate, name="order-compensate"),
    path("orders/<uuid:order_id>/steps/<slug:step>/skip/", acts.skip, name="step-skip"),
    path("orders/<uuid:order_id>/steps/<slug:step>/settle/", acts.settle, name="step-settle"),
    path("orders/<uuid:order_id>/steps/<slug:step>/edit/", acts.edit, name="step-edit"),
    path("compensation/", views.show_compensation, name="compensation"),
    path("set-aside/", views.show_set_aside, name="set-aside"),
    path("set-aside/<int:number>/replay/", acts.replay, name="set-aside-replay"),
]
