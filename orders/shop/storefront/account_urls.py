"""The URLs under /account/."""

from django.urls import path

from orders.shop.storefront import account_entry as entry
from orders.shop.storefront import account_pages as pages

app_name = "account"

urlpatterns = [
    path("", pages.show_overview, name="overview"),
    path("orders/", pages.show_orders, name="orders"),
    path("password/", pages.change_password, name="password"),
    path("addresses/", pages.show_addresses, name="addresses"),
    path("addresses/new/", pages.edit_address, name="new-address"),
    path("addresses/<uuid:address_id>/", pages.edit_address, name="address"),
    path("addresses/<uuid:address_id>/delete/", pages.delete_address, name="delete-address"),
    path("sign-in/", entry.SignIn.as_view(), name="sign-in"),
    path("sign-out/", entry.SignOut.as_view(), name="sign-out"),
    path("sign-up/", entry.sign_up, name="sign-up"),
    path("sign-up/sent/", entry.show_sent, {"about": "sign-up"}, name="sign-up-sent"),
    path("sign-up/<str:token>/", entry.finish_sign_up, name="finish"),
    path("forgotten/", entry.forgotten, name="forgotten"),
    path("forgotten/sent/", entry.show_sent, {"about": "password"}, name="forgotten-sent"),
    path("reset/<str:uidb64>/<str:token>/", entry.Reset.as_view(), name="reset"),
]
