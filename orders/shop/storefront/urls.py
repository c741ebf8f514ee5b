"""The URLs of the shop."""

from django.urls import path

from orders.shop.storefront import (
    cart_views,
    checkout,
    find_order,
    information,
    order_again,
    pay_again,
    receipt,
    views,
)

app_name = "shop"

urlpatterns = [
    path("", views.show_catalogue, name="catalogue"),
    path("posters/<slug:sku>.svg", views.show_picture, name="picture"),
    path("posters/<slug:sku>.png", views.show_picture_as_png, name="picture-png"),
    path("posters/<slug:sku>/", views.show_poster, name="poster"),
    path("cart/", cart_views.show_cart, name="cart"),
    path("cart/add/", cart_views.add, name="cart-add"),
    path("cart/change/", cart_views.change, name="cart-change"),
    path("cart/remove/", cart_views.remove, name="cart-remove"),
    path("checkout/", checkout.check_out, name="checkout"),
    path("checkout/sum/", checkout.show_sum, name="checkout-sum"),
    path("orders/find/", find_order.find_order, name="find-order"),
    path("orders/<uuid:order_id>/pay/", pay_again.pay, name="order-pay"),
    path("o/<str:token>/pay/", pay_again.pay, name="guest-order-pay"),
    path("orders/<uuid:order_id>/again/", order_again.order_again, name="order-again"),
    path("o/<str:token>/again/", order_again.order_again, name="guest-order-again"),
    path("orders/<uuid:order_id>/receipt.pdf", receipt.show_receipt, name="order-receipt"),
    path("o/<str:token>/receipt.pdf", receipt.show_receipt, name="guest-order-receipt"),
    *(
        path(f"{page}/", information.show_information, {"page": page}, name=page)
        for page in information.PAGES
    ),
    path("design/", views.show_design, name="design"),
    *(
        path(f"design/{page}", views.show_design, {"page": page})
        for page in ("404.html", "500.html", "503.html")
    ),
]
