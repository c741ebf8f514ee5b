"""The addresses of the shop."""

from django.urls import path

from orders.storefront import views

app_name = "shop"

urlpatterns = [
    path("", views.show_catalogue, name="catalogue"),
    path("posters/<slug:sku>.svg", views.show_picture, name="picture"),
    path("posters/<slug:sku>/", views.show_poster, name="poster"),
    path("design/", views.show_design, name="design"),
    *(
        path(f"design/{page}", views.show_design, {"page": page})
        for page in ("404.html", "500.html", "503.html")
    ),
]
