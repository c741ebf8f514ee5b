"""Addresses of the console: who may do what, what was done, and the chaos panel."""

from django.urls import URLPattern, path

from orders.console import access_views as views
from orders.console import chaos

urlpatterns: list[URLPattern] = [
    path("sign-in/", views.SignIn.as_view(), name="sign-in"),
    path("second-factor/", views.second_factor_page, name="second-factor"),
    path("second-factor/qr.svg", views.show_qr, name="second-factor-qr"),
    path("second-factor/set-up/", views.set_up, name="second-factor-set-up"),
    path("second-factor/codes/", views.renew_codes, name="second-factor-codes"),
    path("second-factor/remove/", views.remove, name="second-factor-remove"),
    path("audit/", views.show_audit, name="audit"),
    path("audit.csv", views.download_audit, name="audit-csv"),
    path("chaos/", chaos.show, name="chaos"),
    path("chaos/faults/<slug:service>/", chaos.set_faults, name="chaos-faults"),
    path("chaos/clear/", chaos.clear, name="chaos-clear"),
    path("chaos/kill/<slug:role>/", chaos.kill, name="chaos-kill"),
]
